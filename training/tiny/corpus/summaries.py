"""Expected answers of the open prompts, made by rule from what the row holds."""

from random import Random

from training.tiny.corpus.reviews import ReviewText

_ATTITUDE = {
    1: "hates the {item}", 2: "is disappointed with the {item}", 3: "has mixed feelings about the {item}",
    4: "likes the {item}", 5: "loves the {item}",
}  # fmt: skip


def review_summary(body: ReviewText, stars: int, item: str) -> str:
    """Say in one sentence how the reviewer feels, what is praised and what is criticised."""
    text = "The reviewer " + _ATTITUDE[stars].replace("{item}", item)
    praised, blamed = body.praised[:1], body.blamed[:1]
    if praised and blamed:
        return f"{text}, praising the {praised[0]} but criticising the {blamed[0]}."
    if praised:
        return f"{text} and praises the {praised[0]}."
    if blamed:
        return f"{text} and criticises the {blamed[0]}."
    return text + "."


def reply(body: ReviewText, stars: int, item: str, rng: Random) -> str:
    """Answer the reviewer politely."""
    if stars >= 4:
        praise = f" We are glad that you like the {body.praised[0] if body.praised else item}."
        return f"Thank you for your kind review!{praise}"
    if stars == 3:
        return "Thank you for your honest review. We will use it to improve."
    fault = body.blamed[0] if body.blamed else item
    return f"We are sorry about the {fault}. Please contact us and we will make it right."


def ticket_summary(kind: str, urgent: bool | None) -> str:
    """Say in one sentence what the customer wants."""
    needs = {
        "billing": "has a billing problem", "shipping": "asks about a delivery",
        "technical": "reports a technical problem",
        "account": "has a problem with the account", "refund": "asks for a refund",
        "cancellation": "wants to cancel",
        "product question": "asks a question about a product", "complaint": "complains about the service",
        "damaged item": "reports a damaged item",
    }  # fmt: skip
    return f"The customer {needs[kind]}{' and needs a quick answer' if urgent else ''}."


def ticket_reply(kind: str, name: str) -> str:
    """Answer the customer politely."""
    first = name.split(" ", maxsplit=1)[0] or "customer"
    promise = {
        "billing": "We will check your bill", "shipping": "We will trace your delivery",
        "technical": "Our technicians will look into it",
        "account": "We will help you with your account", "refund": "We will check your refund",
        "cancellation": "We will take care of it",
        "product question": "We will send you the details", "complaint": "We are sorry about that",
        "damaged item": "We are sorry about the damage",
    }  # fmt: skip
    return f"Dear {first}, thank you for your message. {promise[kind]} and get back to you soon."
