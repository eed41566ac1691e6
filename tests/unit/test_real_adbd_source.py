"""Where the packages of the true adbd come from: this machine's own archive of Debian, in a release that has them."""

from __future__ import annotations

import pytest

from tests.real_adbd.fetch import Archive, CannotFetch, archive_in

SECURITY = "Debian|Debian-Security|bookworm-security|main|http://one.example/security/\n"


@pytest.mark.parametrize(
    ("codename", "suite"), [("bookworm", "trixie"), ("bullseye", "trixie"), ("trixie", "trixie"), ("sid", "sid")]
)
def test_the_machines_archive_in_a_release_that_has_them(codename: str, suite: str) -> None:
    targets = f"{SECURITY}Other|Other|{codename}|main|http://two.example/\n"
    targets += f"Debian|Debian|{codename}-updates|main|http://three.example/debian/\n"
    targets += f"Debian|Debian|{codename}|main|http://three.example/debian/\n"
    assert archive_in(targets) == Archive("http://three.example/debian/", suite)
    assert f"URIs: http://three.example/debian/\nSuites: {suite}\n" in archive_in(targets).source()


@pytest.mark.parametrize("targets", ["", SECURITY, "Ubuntu|Ubuntu|noble|main|http://four.example/\n", "junk\n||||\n"])
def test_a_machine_without_debians_archive_says_so(targets: str) -> None:
    with pytest.raises(CannotFetch, match="no archive of Debian"):
        archive_in(targets)
