"""Facts about providers: names, aliases, key variables, addresses. Data, no code.

Only those that speak plain chat completions with a key; the base_url of `custom` is the user's.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFacts:
    """One provider; `keys` are the environment variables that may hold its key, first one first."""

    name: str
    aliases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    base_url: str = ""


PROVIDERS: Final = (
    ProviderFacts(
        name="custom",
        aliases=("ollama", "vllm", "llamacpp", "llama.cpp", "llama-cpp"),
    ),
    ProviderFacts(
        name="openrouter",
        aliases=("or",),
        keys=("OPENROUTER_API_KEY",),
        base_url="https://openrouter.ai/api/v1",
    ),
    ProviderFacts(
        name="deepseek",
        aliases=("deepseek-chat", "deep-seek"),
        keys=("DEEPSEEK_API_KEY",),
        base_url="https://api.deepseek.com/v1",
    ),
    ProviderFacts(
        name="nous",
        aliases=("nous-portal", "nousresearch"),
        keys=("NOUS_API_KEY",),
        base_url="https://inference-api.nousresearch.com/v1",
    ),
    ProviderFacts(
        name="zai",
        aliases=("glm", "z-ai", "z.ai", "zhipu"),
        keys=("GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"),
        base_url="https://api.z.ai/api/paas/v4",
    ),
    ProviderFacts(
        name="fireworks",
        aliases=("fireworks-ai", "fw"),
        keys=("FIREWORKS_API_KEY",),
        base_url="https://api.fireworks.ai/inference/v1",
    ),
    ProviderFacts(
        name="huggingface",
        aliases=("hf", "hugging-face", "huggingface-hub"),
        keys=("HF_TOKEN",),
        base_url="https://router.huggingface.co/v1",
    ),
    ProviderFacts(
        name="novita",
        aliases=("novita-ai", "novitaai"),
        keys=("NOVITA_API_KEY",),
        base_url="https://api.novita.ai/openai/v1",
    ),
    ProviderFacts(
        name="nvidia",
        aliases=("nvidia-nim", "nim", "build-nvidia", "nemotron"),
        keys=("NVIDIA_API_KEY",),
        base_url="https://integrate.api.nvidia.com/v1",
    ),
    ProviderFacts(
        name="gmi",
        aliases=("gmi-cloud", "gmicloud"),
        keys=("GMI_API_KEY",),
        base_url="https://api.gmi-serving.com/v1",
    ),
    ProviderFacts(
        name="ollama-cloud",
        aliases=("ollama_cloud",),
        keys=("OLLAMA_API_KEY",),
        base_url="https://ollama.com/v1",
    ),
    ProviderFacts(
        name="deepinfra",
        aliases=("deep-infra", "deepinfra-ai"),
        keys=("DEEPINFRA_API_KEY",),
        base_url="https://api.deepinfra.com/v1/openai",
    ),
)
