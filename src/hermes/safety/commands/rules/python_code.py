"""Python text that can be shown to do no more than compute, read and print."""

import ast
import sys
from typing import Final

from hermes.safety.commands.model import UNKNOWN

# fmt: off
_MODULES: Final = frozenset((
    "abc", "array", "ast", "base64", "bisect", "calendar", "cmath", "collections", "colorsys",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fractions",
    "functools", "hashlib", "heapq", "hmac", "html", "io", "itertools", "json", "keyword",
    "locale", "math", "numbers", "operator", "os", "pathlib", "platform", "pprint", "random", "re",
    "secrets", "statistics", "string", "struct", "sys", "sysconfig", "textwrap", "time", "timeit",
    "tomllib", "typing", "unicodedata", "urllib.parse", "uuid", "yaml", "zlib", "zoneinfo",
    "numpy", "pandas", "torch", "site", "tomli", "binascii", "ipaddress", "fnmatch", "glob",
    "importlib.metadata", "version", "shlex", "warnings", "xml.etree.ElementTree", "codecs",
    "configparser", "email.utils", "quopri", "ssl", "zipfile", "tarfile", "sqlite3", "socket",
    "getpass", "django", "flask", "fastapi", "requests", "tensorflow", "sklearn", "scipy",
    "matplotlib", "pytest", "setuptools", "wheel", "attr", "attrs", "pydantic", "click", "rich",
    "cryptography", "PIL", "cv2", "transformers", "httpx", "sympy", "networkx", "jwt", "toml",
    "dateutil", "pytz", "packaging", "packaging.version", "lxml", "bs4", "markdown", "jinja2",
))
"""What may be imported: modules without effects, or of which only _OF names may be used."""
_OF: Final = {
    "os": "path getcwd cpu_count sep linesep name listdir getpid environ uname scandir stat getenv",
    "os.path": "join exists isfile isdir basename dirname abspath getsize splitext expanduser"
    " realpath relpath normpath getmtime islink commonpath sep split",
    "sys": "version version_info argv path platform executable stdin stdout stderr maxsize prefix"
    " byteorder exit getsizeof float_info base_prefix implementation getrecursionlimit"
    " hexversion flags getdefaultencoding builtin_module_names stdlib_module_names",
    "pathlib": "Path PurePath PurePosixPath", "glob": "glob iglob", "ssl": "OPENSSL_VERSION",
    "io": "StringIO BytesIO TextIOWrapper", "socket": "gethostname",
    "sqlite3": "sqlite_version version",
    "zipfile": "", "tarfile": "", "yaml": "safe_load safe_load_all safe_dump dump __version__",
    "requests": "__version__", "httpx": "__version__", "torch": "__version__ cuda version backends"
    " tensor randn zeros ones", "pandas": "__version__", "numpy": "*", "timeit": "",
    "importlib.metadata": "version distributions packages_distributions", "platform": "*",
    "codecs": "encode decode", "json": "load loads dump dumps JSONDecodeError decoder tool",
    "tomllib": "load loads TOMLDecodeError", "tomli": "load loads", "toml": "load loads dumps",
    "site": "getsitepackages getusersitepackages USER_SITE",
}
_OPEN_ENDED: Final = frozenset((
    "django", "flask", "fastapi", "tensorflow", "sklearn", "scipy", "matplotlib", "pytest",
    "setuptools", "wheel", "attr", "attrs", "pydantic", "click", "rich", "cryptography", "PIL",
    "cv2", "transformers", "lxml", "bs4", "jinja2", "pandas",
))
"""Packages whose version may be printed, and no more."""
_CALLS: Final = frozenset((
    "abs", "all", "any", "ascii", "bin", "bool", "bytes", "bytearray", "chr", "complex", "dict",
    "dir", "divmod", "enumerate", "filter", "float", "format", "frozenset", "hash", "hex", "id",
    "input", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next",
    "oct", "ord", "pow", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted",
    "str", "sum", "tuple", "type", "zip", "exit", "quit", "open",
))
_METHODS_NOT: Final = frozenset((
    "write", "writelines", "write_text", "write_bytes", "unlink", "rmdir", "rename", "replace_file",
    "mkdir", "touch", "chmod", "system", "popen", "spawn", "fork", "kill", "remove_file", "rmtree",
    "symlink_to", "hardlink_to", "link_to", "to_csv", "to_sql", "to_pickle", "to_parquet", "save",
    "savez", "savetxt", "tofile", "dump_file", "extractall", "connect", "execute", "eval", "exec",
    "import_module", "load_module", "exec_module", "find_module", "call", "run", "Popen", "putenv",
    "execv", "execve", "execl", "execle", "execlp", "execvp", "execvpe", "spawnl", "spawnv",
    "spawnlp", "spawnvp", "posix_spawn", "getoutput", "getstatusoutput", "check_output",
    "check_call", "startfile", "savez_compressed", "lib", "f2py", "distutils", "testing",
    "DataSource", "methodcaller", "attrgetter", "Formatter", "get_field", "vformat",
    "make_dataclass", "get_type_hints", "ForwardRef", "os", "sys", "subprocess", "shutil",
    "socket", "importlib", "builtins", "ctypes", "posix", "posixpath", "pty", "multiprocessing",
    "asyncio", "runpy", "io", "tempfile", "threading", "pickle", "marshal",
    "truncate", "environ_set", "load_library_path", "ctypeslib", "memmap", "fromfile", "load",
    "loads_pickle", "query", "format_map", "modify", "lchmod", "chown", "setattr",
))
_TOOLS: Final = ("sh", "plumbum", "fabric", "invoke", "pexpect", "ptyprocess", "psutil")
# fmt: on
_OWN: Final = "?"
"""Stands for a module or a name of it that may be imported, and not used."""


def harmless_python(code: str) -> bool:
    """Whether Python code can be shown to do no more than compute, read and print."""
    if UNKNOWN in code or len(code) > 20_000:
        return False
    try:
        tree = ast.parse(code)
        nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    modules: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and not _imports(node, modules):
            return False
    defined = {
        name
        for node in nodes
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef)
            else [node.id]
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else [node.arg]
            if isinstance(node, ast.arg)
            else []
        )
    }
    if defined & (_CALLS | modules.keys()):
        return False
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    read = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Name) and modules.get(node.id) == _OWN and id(node) not in read:
            return False
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        # Under another name, a call of these could not be told from a harmless one.
        if name in ("open", "replace") and id(node) not in called:
            return False
    return all(_harmless(node, modules, defined) for node in nodes)


def _imports(node: ast.Import | ast.ImportFrom, modules: dict[str, str]) -> bool:
    if isinstance(node, ast.Import):
        for each in node.names:
            if _own(each.name):
                modules[each.asname or each.name.partition(".")[0]] = _OWN
                continue
            if each.name not in _MODULES and each.name != "os.path":
                return False
            modules[each.asname or each.name.partition(".")[0]] = (
                each.name if each.asname else each.name.partition(".")[0]
            )
        return True
    if node.level == 0 and node.module and _own(node.module):
        modules.update({each.asname or each.name: _OWN for each in node.names})
        return all(each.name != "*" for each in node.names)
    if node.module not in _MODULES or node.level:
        return False
    for each in node.names:
        if not _used(node.module, each.name):
            return False
        modules[each.asname or each.name] = f"{node.module}.{each.name}"
    return True


def _own(module: str) -> bool:
    """Whether a module is no part of Python: importing it does what starting its program does."""
    top = module.partition(".")[0]
    return module not in _MODULES and top not in (*sys.stdlib_module_names, *_TOOLS)


def _used(module: str, name: str) -> bool:
    if name in ("__version__", "__file__"):
        return True
    if module == _OWN:
        return False
    if module in _OF:
        return (_OF[module] == "*" and name not in _METHODS_NOT) or name in _OF[module].split()
    if module in _OPEN_ENDED:
        return False
    return not name.startswith("_") and name not in _METHODS_NOT


def _harmless(node: ast.AST, modules: dict[str, str], defined: set[str]) -> bool:
    match node:
        case ast.Attribute():
            return _attribute(node, modules)
        case ast.Name():
            if node.id.startswith("__") and node.id not in ("__name__", "__file__", "__doc__"):
                return False
            return (
                node.id in _CALLS or node.id in modules or node.id in defined or _is_plain(node.id)
            )
        case ast.Call():
            return _call(node, modules, defined)
        case ast.Global() | ast.Nonlocal() | ast.ClassDef() | ast.AsyncFunctionDef() | ast.Delete():
            return False
        case ast.Assign():
            return not any(isinstance(each, ast.Attribute) for each in node.targets)
        case ast.FunctionDef():
            return not node.decorator_list
        case _:
            return True


def _is_plain(name: str) -> bool:
    return name in (
        "True",
        "False",
        "None",
        "Exception",
        "ValueError",
        "KeyError",
        "object",
        "TypeError",
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "OSError",
        "FileNotFoundError",
        "StopIteration",
        "IndexError",
        "NotImplemented",
        "AssertionError",
        "UnicodeDecodeError",
        "Ellipsis",
        "__name__",
        "__file__",
    )


def _attribute(node: ast.Attribute, modules: dict[str, str]) -> bool:
    name = node.attr
    if name.startswith("_") and name not in (
        "__version__",
        "__file__",
        "__name__",
        "__doc__",
        "__path__",
    ):
        return False
    if isinstance(node.value, ast.Name) and node.value.id in modules:
        return _used(modules[node.value.id], name) or f"{modules[node.value.id]}.{name}" in _MODULES
    dotted = _dotted(node.value)
    if dotted in _OF:
        return _used(dotted, name)
    if dotted in {"sys.stdout", "sys.stderr", "sys.stdout.buffer"}:
        return name in ("write", "flush", "buffer", "encoding", "isatty", "reconfigure")
    if dotted == "os.environ":
        return name in ("get", "items", "keys", "values", "copy")
    return name not in _METHODS_NOT


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return "?"


def _call(node: ast.Call, modules: dict[str, str], defined: set[str]) -> bool:
    target = node.func
    if isinstance(target, ast.Name):
        if target.id in ("open",):
            return _reads(node)
        # A name that the code made itself may stand for anything only if a call could make it.
        known = target.id in modules and modules[target.id] != _OWN
        return target.id in _CALLS or target.id in defined or known
    if isinstance(target, ast.Attribute) and target.attr == "open":
        return _reads(node, method=True)
    if isinstance(target, ast.Attribute) and target.attr == "replace":
        return len(node.args) >= 2
    return isinstance(target, ast.Attribute)


def _reads(node: ast.Call, *, method: bool = False) -> bool:
    modes = [each.value for each in node.keywords if each.arg == "mode"]
    modes += node.args[0 if method else 1 :][:1]
    return all(isinstance(m, ast.Constant) and m.value in ("r", "rb", "rt") for m in modes)
