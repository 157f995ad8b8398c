"""What a run of the tests compiled is compared with the list of signatures."""

from hedgerow.kernels import signatures
from hedgerow.kernels.cache import write
from unlisted_kernels import CALLED_BY_TESTS, TESTED, report


def listed_job():
    kernel, found = next(iter(signatures.listed()["binning"].items()))
    return kernel, signatures.text_of(found[0])


def test_listed_kernels_and_those_of_tests_are_expected(tmp_path):
    for job in (listed_job(), ("weak._fill", "int64"), *TESTED):
        write(tmp_path, job, b"code")
    assert report(tmp_path) == (
        ["compiled kernels: 3, of which 2 are called by tests only and 0 should be in signatures.txt"],
        True,
    )


def test_other_kernels_are_reported(tmp_path):
    kernel, _ = listed_job()
    write(tmp_path, (kernel, "int64"), b"code")
    lines, is_complete = report(tmp_path)
    assert not is_complete
    assert "1 should be in signatures.txt" in lines[0]
    assert lines[1] == f"  {kernel}(int64)"
    assert str(tmp_path) in lines[2]


def test_kernels_of_tests_are_not_listed():
    """Otherwise their signatures would not be checked."""
    assert not [name for name in CALLED_BY_TESTS if signatures.of_kernel(name)]
    assert not [job for job in TESTED if signatures.parse(job[1]) in signatures.of_kernel(job[0])]
