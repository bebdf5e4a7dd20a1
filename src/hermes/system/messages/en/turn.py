"""What the loop tells people."""

from typing import Final

MESSAGES: Final = {
    "allow": "Allow {tool}?",
    "nobody": (
        "nobody is there to allow it. Run it in a chat, or start Hermes with --yolo to allow "
        "everything."
    ),
    "retry": "{why} Trying again in {seconds} s (attempt {attempt}).",
    "no_reply": "The model ended its stream without a reply.",
    "unpriced": "No price is known for {model}, so the money limit cannot be kept.",
    "unpriced_hint": (
        "Nothing was sent. Set model.price in config.yaml, or budget.unpriced: allow."
    ),
    "over_budget": "The next call would pass the limit of ${limit} per {name} (${spent} spent).",
    "over_budget_hint": "Nothing was sent. Raise budget.usd.{name} to go on.",
    "stopped": "stopped",
    "blank": "The model gave no answer, also when asked again. Nothing else was done.",
    "blank_after_tools": (
        "The model gave no answer after its last tool calls, also when asked again. What the tools "
        "did stays done."
    ),
    "only_reasoning": "The model gave no answer, only this reasoning:\n{text}",
    "loop": (
        "Stopped: {tool} was called {count} times without progress. The last result was: {result}"
    ),
    "steps": "Stopped at the limit of {limit} steps without a final answer.",
    "turn_time": "Stopped: this turn took longer than its limit of {seconds} s.",
    "too_long": "The answer was cut at the output limit, also after it was continued.",
    "bug": "This turn ended on a fault in Hermes itself; the log has the details.",
    "refused_reply": "The model refused to answer.",
    "store_failed": "This turn could not be saved, so it was stopped: {why}",
}
