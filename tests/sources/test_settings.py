"""The settings that vendors declare, and how they are read: one suite for all vendors."""

from __future__ import annotations

import re

import pytest

from sift.config import SETTINGS, Config, VendorSettings, all_settings
from sift.errors import ConfigError
from sift.sources import DECLARED, VENDORS

pytestmark = pytest.mark.parametrize("declared", DECLARED, ids=[each.name for each in DECLARED])
HOME = {"HOME": "/h"}


def on(declared: VendorSettings) -> dict[str, str]:
    """Return the variables that switch a vendor's source on."""
    return {name: "http://h.example/a" if name.endswith("_URL") else "secret-key" for name in declared.switches}


def test_names_and_variables_are_the_vendors_own(declared: VendorSettings) -> None:
    """A vendor shares neither its name nor a variable with another or with the service."""
    assert [each.name for each in DECLARED].count(declared.name) == 1
    assert re.fullmatch("[a-z][a-z0-9_]*", declared.name)
    assert re.fullmatch("SIFT_[A-Z][A-Z0-9]*", declared.prefix)
    names = [setting.name for setting in all_settings(DECLARED)]
    assert all(names.count(setting.name) == 1 for setting in declared.settings())
    assert all(setting.name.startswith(f"{declared.prefix}_") for setting in declared.settings())


def test_nothing_is_set_the_source_is_off(declared: VendorSettings) -> None:
    """No vendor is called before an operator has set its URL or key."""
    assert declared.switches
    with pytest.raises(ConfigError, match=f"^no source is set: set .*{declared.switches[0]}"):
        Config.from_env(HOME, DECLARED)


def test_switches_are_set_the_source_is_on_with_its_defaults(declared: VendorSettings) -> None:
    """The switches are enough; the rest has its declared defaults, as the table shows them."""
    (source,) = Config.from_env(HOME | on(declared), DECLARED).sources
    assert (source.name, source.timeout, source.rerank) == (declared.name, 8.0, True)
    assert source.daily_cap == declared.daily_cap
    assert source.url == (declared.url or "http://h.example/a")
    assert source.key == ("secret-key" if declared.key else "")
    assert "secret-key" not in repr(source)
    shown = {setting.name: setting.default for setting in all_settings(DECLARED) if setting.default}
    assert Config.from_env(HOME | shown | on(declared), DECLARED).sources == (source,)


def test_one_switch_is_missing_the_source_is_off(declared: VendorSettings) -> None:
    """A key without a place to send it, or a place without a key, is no source."""
    for name in declared.switches:
        with pytest.raises(ConfigError, match=r"^no source is set"):
            Config.from_env(HOME | on(declared) | {name: " "}, DECLARED)


def test_value_is_bad_the_variable_is_named(declared: VendorSettings) -> None:
    """Each variable is checked, also while the source is off; the value is not shown."""
    for setting in declared.settings():
        for environ in ({"SIFT_DEMO": "on"}, on(declared)):
            with pytest.raises(ConfigError, match=f"^{setting.name} ") as raised:
                Config.from_env(HOME | environ | {setting.name: "zebra \x07"}, DECLARED)
            assert "zebra" not in str(raised.value)


def test_url_is_a_base_url_a_query_is_refused(declared: VendorSettings) -> None:
    """A path is appended to a base URL, which has no query; a whole URL may have one."""
    name, url = declared.variable("URL"), "http://h.example/a?b=c"
    if declared.appends:
        with pytest.raises(ConfigError, match=f"^{name} is a base URL"):
            Config.from_env(HOME | on(declared) | {name: url}, DECLARED)
        assert declared.appends.startswith("/")
    else:
        assert Config.from_env(HOME | on(declared) | {name: url}, DECLARED).sources[0].url == url


def test_settings_are_described_in_one_line_each(declared: VendorSettings) -> None:
    """The table of all settings lists the vendors' first, in source order, then the service's."""
    table = all_settings(DECLARED)
    assert table[-len(SETTINGS) :] == SETTINGS
    assert {*declared.settings()} <= {*table}
    assert all(setting.help and "\n" not in setting.help for setting in declared.settings())


def test_factory_returns_the_declared_source(declared: VendorSettings) -> None:
    """The factory returns the source that the settings are declared for."""
    (vendor,) = [each for each in VENDORS.values() if each.settings is declared]
    (settings,) = Config.from_env(HOME | on(declared), DECLARED).sources
    assert vendor.make(settings, 1).name == declared.name
