import pytest

from ottla.registry.passwords import HashedPassword, PlainPassword, UnusablePassword, hash_password, read_password


def test_a_hash_fits_its_password_and_no_other() -> None:
    text = hash_password("pässwort")
    stored = read_password(text)
    assert isinstance(stored, HashedPassword)
    assert stored.fits("pässwort")
    assert not stored.fits("password")
    assert not stored.fits("")
    assert "pässwort" not in text


def test_two_hashes_of_a_password_have_nothing_in_common() -> None:
    assert hash_password("a").split(":")[-2:] != hash_password("a").split(":")[-2:]


def test_a_password_as_it_is_fits_itself() -> None:
    stored = read_password("secret")
    assert stored.fits("secret")
    assert not stored.fits("secret ")


@pytest.mark.parametrize("form", ["OBF:1v2j1uum", "MD5:164c88b3", "CRYPT:usjR"])
def test_forms_that_protect_nothing_are_refused_by_name(form: str) -> None:
    with pytest.raises(UnusablePassword, match=form.partition(":")[0]) as refused:
        read_password(form)
    assert form.partition(":")[2] not in str(refused.value)


GOOD = hash_password("a").split(":")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SCRYPT:",
        "SCRYPT:a:b:c:d:e",
        ":".join([*GOOD[:-1], "!!!"]),
        ":".join([*GOOD[:-1], "AAAA"]),
        ":".join(["SCRYPT", str(2**30), *GOOD[2:]]),
        ":".join(["SCRYPT", "1000", *GOOD[2:]]),
        ":".join(["SCRYPT", GOOD[1], "0", *GOOD[3:]]),
    ],
    # The same in every process: hashes have salts.
    ids=["empty", "nothing", "letters", "no base64", "short", "n too large", "n no power", "r none"],
)
def test_what_can_be_no_password_is_refused(text: str) -> None:
    with pytest.raises(UnusablePassword):
        read_password(text)


def test_passwords_do_not_show() -> None:
    assert "secret" not in repr(PlainPassword("secret"))
    assert GOOD[-1] not in repr(read_password(":".join(GOOD)))
