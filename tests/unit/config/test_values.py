import pytest

from ottla.config.values import ConfigError, ConfigType, ConfigValue, Password, format_double, format_value, parse_value


@pytest.mark.parametrize(
    ("text", "config_type", "value"),
    [
        (" 5 ", ConfigType.INT, 5),
        ("+5", ConfigType.INT, 5),
        ("-2147483648", ConfigType.INT, -(2**31)),
        ("9223372036854775807", ConfigType.LONG, 2**63 - 1),
        (" TRUE ", ConfigType.BOOLEAN, True),
        ("False", ConfigType.BOOLEAN, False),
        ("1e-1", ConfigType.DOUBLE, 0.1),
        (".5", ConfigType.DOUBLE, 0.5),
        ("2d", ConfigType.DOUBLE, 2.0),
        ("", ConfigType.LIST, ()),
        ("a , b,c", ConfigType.LIST, ("a", "b", "c")),
        ("a,", ConfigType.LIST, ("a", "")),
        (" x y ", ConfigType.STRING, "x y"),
    ],
)
def test_text_is_read_as_java_reads_it(text: str, config_type: ConfigType, value: ConfigValue) -> None:
    assert parse_value("key", text, config_type) == value


@pytest.mark.parametrize(
    ("text", "config_type"),
    [
        ("x", ConfigType.INT),
        ("", ConfigType.INT),
        ("1_0", ConfigType.INT),
        ("1.0", ConfigType.INT),
        ("٣", ConfigType.INT),
        ("2147483648", ConfigType.INT),
        ("40000", ConfigType.SHORT),
        ("9" * 5000, ConfigType.LONG),
        ("yes", ConfigType.BOOLEAN),
        ("1", ConfigType.BOOLEAN),
        ("abc", ConfigType.DOUBLE),
        ("1_0.0", ConfigType.DOUBLE),
    ],
)
def test_text_that_java_refuses_is_refused_with_key_and_value(text: str, config_type: ConfigType) -> None:
    with pytest.raises(ConfigError, match=r"Invalid value .* for configuration some\.key: ") as caught:
        parse_value("some.key", text, config_type)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (5.0, "5.0"),
        (5e9, "5.0E9"),
        (1e-4, "1.0E-4"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (12345678.0, "1.2345678E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (-0.00025, "-2.5E-4"),
        (0.0, "0.0"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_printed_as_java_prints_them(value: float, text: str) -> None:
    assert format_double(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), (True, "true"), (7, "7"), (("a", "b"), "a,b"), ((), ""), ("x", "x"), (Password("s"), "[hidden]")],
)
def test_values_print_as_kafka_prints_them(value: ConfigValue, text: str | None) -> None:
    assert format_value(value) == text


def test_a_password_shows_itself_nowhere_but_in_its_value() -> None:
    password = parse_value("ssl.key.password", " secret ", ConfigType.PASSWORD)
    assert isinstance(password, Password)
    assert password.value == "secret"
    assert "secret" not in f"{password} {password!r} {[password]}"
    assert password == Password("secret")
    assert password != Password("other")
