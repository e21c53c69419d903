"""The cache of pages (contract: Fetch)."""

from __future__ import annotations

from sift.store.pages import MAX_SECONDS, PageCache


def test_page_is_found_under_its_key_only() -> None:
    cache: PageCache[str] = PageCache()
    cache.put(b"key", "page", 10)
    assert cache.get(b"key") == "page"
    assert cache.get(b"other") is None


def test_pages_together_are_too_large_the_one_unused_for_longest_goes() -> None:
    """contract: Fetch: bounded in bytes."""
    cache: PageCache[str] = PageCache(memory=100)
    for name in ("a", "b", "c"):
        cache.put(name.encode(), name, 40)
    assert [cache.get(name) for name in (b"a", b"b", b"c")] == [None, "b", "c"]


def test_page_larger_than_the_cache_is_not_kept_and_pushes_nothing_out() -> None:
    cache: PageCache[str] = PageCache(memory=100)
    cache.put(b"a", "a", 40)
    cache.put(b"b", "b", 101)
    assert (cache.get(b"a"), cache.get(b"b")) == ("a", None)


def test_more_pages_than_entries_the_oldest_goes() -> None:
    """contract: Fetch: bounded in entries."""
    cache: PageCache[int] = PageCache(entries=3)
    for number in range(5):
        cache.put(str(number).encode(), number, 1)
    assert len(cache) == 3
    assert cache.get(b"0") is None


def test_page_is_older_than_anybody_may_ask_for_it_is_gone() -> None:
    """contract: Fetch: `max_age` is a day at most."""
    now = [0.0]
    cache: PageCache[str] = PageCache(clock=lambda: now[0])
    cache.put(b"key", "page", 10)
    now[0] = MAX_SECONDS - 1
    assert cache.get(b"key") == "page"
    now[0] = MAX_SECONDS
    assert cache.get(b"key") is None
