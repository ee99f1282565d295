"""Prices of models: your own file, hosts, the machine's hour; unknown where unknown, and errors that mend."""

from pathlib import Path

import pytest

from relserve.call.relquery import Usage
from relserve.errors import UsageError
from relserve.prices.price import HourPrice, Rates, TokenPrice, dollars
from relserve.prices.prices import Prices, find_hosted

RATES = Rates(1.0, 0.25, 4.0)


def of(tmp_path: Path, text: str, hour: float | None = None) -> Prices:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return Prices.of(path, hour)


def test_cached_tokens_have_their_own_rate() -> None:
    price = TokenPrice(RATES)
    assert price.cost(Usage(1_000_000, 400_000, 500_000)) == pytest.approx(0.6 + 0.1 + 2.0)
    assert price.cost(Usage(10, 99, 0)) == pytest.approx(10 * 0.25 / 1e6), "no more are cached than there are"


def test_a_long_prompt_has_the_rates_of_its_tier_alone() -> None:
    price = TokenPrice(RATES, ((1000, Rates(2.0, 0.5, 8.0)),))
    assert price.cost(Usage(1000, 0, 0)) == pytest.approx(0.001)
    assert price.cost(Usage(1001, 0, 1)) == pytest.approx((1001 * 2 + 8) / 1e6)
    assert price.cost_of_many(Usage(2000, 0, 0), 4) == pytest.approx(0.002), "four requests of 500"


def test_the_closest_name_of_the_file_counts(tmp_path: Path) -> None:
    text = """
["gpu:8000"]
input = 1
output = 1
["gpu:8000#small"]
input = 2
output = 2
["http://gpu:8000/v1#big"]
input = 3
output = 3
[tiny]
hour = 7.2
"""
    prices = of(tmp_path, text)
    assert prices.find("http://gpu:8000/v1#big") == TokenPrice(Rates(3, 3, 3))
    assert prices.find("http://ann:secret@gpu:8000/v1#small") == TokenPrice(Rates(2, 2, 2))
    assert prices.find("http://gpu:8000/v1") == TokenPrice(Rates(1, 1, 1))
    assert prices.find("tiny") == HourPrice(7.2)
    assert prices.find("http://gpu:9000/v1#big") is None
    assert prices.find("smollm2") is None


def test_the_hour_is_of_models_on_this_machine() -> None:
    prices = Prices.of(None, 3.6)
    assert prices.find("tiny") == HourPrice(3.6)
    assert HourPrice(3.6).cost(10) == pytest.approx(0.01)
    assert prices.find("http://gpu:8000/v1#m") is None
    assert prices.find("scripted") is None


def test_hosts_are_known_by_the_whole_name() -> None:
    pytest.importorskip("genai_prices")
    found = find_hosted("https://api.openai.com/v1", "gpt-4o-mini")
    assert found is not None
    assert found.rates == Rates(0.15, 0.075, 0.6)
    assert find_hosted("https://api.openai.com.evil.example/v1", "gpt-4o-mini") is None
    assert find_hosted("https://proxy.example/api.openai.com/v1", "gpt-4o-mini") is None
    assert find_hosted("https://api.openai.com/v1", "a-model-of-nobody") is None
    assert Prices().find("https://api.openai.com/v1#gpt-4o-mini") == found
    assert Prices().find("https://api.openai.com/v1") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\ninput = 1\n", "lacks output"),
        ("[a]\ninput = -1\noutput = 1\n", "input is -1, not a number of dollars"),
        ("[a]\ninput = nan\noutput = 1\n", "input is nan"),
        ("[a]\ninput = inf\noutput = 1\n", "input is inf"),
        ("[a]\ninput = true\noutput = 1\n", "input is True"),
        ("[a]\ninput = '0.1'\noutput = 1\n", "input is '0.1'"),
        ("[a]\nouput = 1\ninput = 1\n", "Did you mean output?"),
        ("[a]\nhour = 1\ninput = 1\n", "leave one of them out"),
        ("[gpu.local]\ninput = 1\noutput = 1\n", "stands in quotes"),
        ("a = 1\n", "no table of prices"),
        ("[a\n", "is no TOML"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"prices\.toml") as error:
        of(tmp_path, text)
    assert said in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"RELSERVE_PRICES: .*none\.toml cannot be read"):
        Prices.of(tmp_path / "none.toml", None)


def test_how_to_give_a_price() -> None:
    prices = Prices()
    assert "RELSERVE_HOUR_PRICE" in prices.how_to_give("tiny")
    assert "http://x:1/v1#NAME" in prices.how_to_give("http://x:1/v1")
    assert "input = .." in prices.how_to_give("http://x:1/v1#m")


def test_money_is_told_as_people_read_it() -> None:
    told = [dollars(each) for each in (None, 0.0, 0.47, 0.00123, 12345.678, 0.999)]
    assert told == ["unknown", "0.00 USD", "0.47 USD", "0.0012 USD", "12,345.68 USD", "1.00 USD"]


def test_batches_have_prices_of_their_own(tmp_path: Path) -> None:
    host = "https://api.openai.com/v1#gpt-4o-mini"
    at_once, in_batches = Prices().find(host), Prices().find(f"batch:{host}")
    assert isinstance(at_once, TokenPrice)
    assert isinstance(in_batches, TokenPrice)
    assert in_batches.rates.input == at_once.rates.input / 2
    assert in_batches.rates.output == at_once.rates.output / 2
    assert Prices().find("batch:https://api.deepseek.com/v1#deepseek-chat") is None, "no half is guessed"
    text = '["gpu:8000"]\ninput = 1\noutput = 1\n'
    assert of(tmp_path, text).find("batch:http://gpu:8000/v1#big") is None
    prices = of(tmp_path, text + '["batch:gpu:8000"]\ninput = 0.5\noutput = 0.5')
    assert prices.find("batch:http://gpu:8000/v1#big") == TokenPrice(Rates(0.5, 0.5, 0.5))
