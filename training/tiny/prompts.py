"""The prompt format shared by training, evaluation and the product."""

CHAT_TEMPLATE = (
    "{{ bos_token }}{% set ns = namespace(system='') %}"
    "{% for message in messages %}"
    "{% if message['role'] == 'system' %}{% set ns.system = message['content'] + '\n' %}"
    "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + ns.system + message['content'] + '\n' }}"
    "{% set ns.system = '' %}"
    "{% elif message['role'] == 'assistant' %}"
    "{{ '<|assistant|>\n' + message['content'] + eos_token }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>")


def choices_line(choices: tuple[str, ...]) -> str:
    """Return the line put before the prompt of a call with choices."""
    return f"Answer with exactly one of: {', '.join(choices)}.\n"


def score_line(lo: int, hi: int) -> str:
    """Return the line put before the prompt of a score call."""
    return f"Answer with a number from {lo} to {hi}.\n"


def chat(user: str, system: str = "") -> str:
    """Render one call as the chat template does, up to where the answer begins."""
    head = f"{system}\n" if system else ""
    return f"<s><|user|>\n{head}{user}\n<|assistant|>\n"
