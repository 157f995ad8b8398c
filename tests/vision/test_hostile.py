"""Damaged and hostile cascade files: errors that name the position, in bounded time and memory."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from cascade_files import make_model, old_format
from fuzz_cascades import evaluate
from hedgerow.container import ModelFileError, pack, unpack
from hedgerow.vision import opencv_xml
from hedgerow.vision.model import HAAR, LBP, pack_cascade, unpack_cascade
from hedgerow.vision.opencv import read_opencv, write_opencv
from hedgerow.vision.opencv_xml import MAX_BYTES

HAAR_FILE = b"""<?xml version="1.0"?>
<opencv_storage>
<cascade>
<stageType>BOOST</stageType>
<featureType>HAAR</featureType>
<height>20</height>
<width>24</width>
<featureParams><maxCatCount>0</maxCatCount></featureParams>
<stages>
<_><stageThreshold>0.5</stageThreshold>
<weakClassifiers><_>
<internalNodes>1 0 0 0.1 -1 -2 1 0.2</internalNodes>
<leafValues>0.1 0.2 0.3</leafValues>
</_></weakClassifiers></_></stages>
<features>
<_><rects><_>0 0 4 4 -1.</_><_>0 0 2 2 2.</_></rects></_>
<_><rects><_>12 3 4 4 -1.</_></rects><tilted>1</tilted></_>
</features></cascade></opencv_storage>"""
LBP_FILE = write_opencv(make_model(LBP, seed=1, stages=1, trees=1))
OLD_FILE = old_format(make_model(seed=2, nodes=2, stages=1, trees=1))

NUMBERS = [  # replace 0.2, a leaf
    *(
        (text, "it must be a number")
        for text in ("nan", "-inf", ".Inf", "1_000", "0x1p3", "1e", "--1", "1,5")
    ),
    *((text, "it is too large for single precision") for text in ("1e39", "-1e999", "3.4028236e38")),
    *((text, "it must be ASCII") for text in ("\u0661", "1\u00a02")),
    ("1" * 65, "it must be a number"),
    ("0.2 0.3", "4 numbers are not allowed: there must be 3"),
    ("", "2 numbers are not allowed: there must be 3"),
    ("<a/>", "is beside elements"),
]
INTEGERS = [  # replace 24, the width
    ("2147483648", "2147483648 is not allowed: integers must fit into 32 bits"),
    *(
        (text, "it must be an integer")
        for text in ("99999999999", "9" * 100_000, "24.", "024", "0x18", "2_4")
    ),
    ("24 24", "2 numbers are not allowed: there must be 1"),
    ("", "0 numbers are not allowed: there must be 1"),
    *((text, f"the window is {text} x 20") for text in ("0", "-24", "2147483647")),
    ("3", "is not inside the 3 x 20 window"),
]
HAAR_EDITS = [
    ("opencv_storage", "svg", "line 2, <svg>: not a file of OpenCV"),
    ("<stageType>BOOST</stageType>", "", "<cascade>: not a cascade: <stageType> .* or <size>"),
    ("BOOST", "FOREST", "line 4, <stageType>: 'FOREST' is not supported; BOOST is"),
    ("HAAR", "HOG", "line 5, <featureType>: 'HOG' features are not supported; HAAR and LBP are"),
    ("HAAR", "H" * 99_999, "features are not supported"),
    ("HAAR", "LBP", "line 8, <maxCatCount>: LBP features require 256"),
    ("<height>20</height>", "", "<cascade>: the element <height> is missing"),
    ("<height>20</height>", "<height>20</height>" * 2, "<height> occurs 2 times; it must occur once"),
    (">20</height>", "><_>20</_></height>", "<height>: <_> in it is not allowed: it must contain text"),
    ("<maxCatCount>0<", "<maxCatCount>256<", "HAAR features require 0"),
    ("<stageThreshold>0.5</stageThreshold>", "", "line 10, <_>: the element <stageThreshold> is missing"),
    ("leafValues", "leaves", "line 11, <_>: the element <leafValues> is missing"),
    ("0.1 -1 -2", "0.1 -1", "line 12, <internalNodes>: 7 numbers .*: there must be a multiple of 4"),
    ("1 0 0 0.1", "0 0 0 0.1", None),  # an unreachable node is harmless
    ("1 0 0 0.1", "2 0 0 0.1", "left: a child must be a later node of its tree"),
    ("-1 -2 1 0.2<", "1 -2 1 0.2<", "left: a child must be a later node of its tree"),
    ("-1 -2 1 0.2<", "-1 -3 1 0.2<", "right: a child must be a later node .* or one of its leaves"),
    ("-1 -2 1 0.2<", "-1 -2 2 0.2<", "must be the index of one of the 2 features"),
    ("-1 -2 1 0.2<", "-1 -2 -1 0.2<", "must be the index of one of the 2 features"),
    ("0 0 4 4 -1.", "21 0 4 4 -1.", r"feature 0: the rectangle \[21, 0, 4, 4\] is not inside the 24 x 20"),
    ("0 0 4 4 -1.", "0 0 0 4 -1.", "is not inside"),
    ("0 0 4 4 -1.", "2147483647 0 2147483647 4 -1.", "is not inside"),
    ("0 0 4 4 -1.", "-1 0 4 4 -1.", "is not inside"),
    ("0 0 4 4 -1.", "0 0 4 4", "line 16, <_>: 4 numbers are not allowed: there must be 5"),
    ("12 3 4 4", "3 3 4 4", r"feature 1: the rectangle \[3, 3, 4, 4\] is not inside"),
    ("<_>0 0 2 2 2.</_>", "<_>0 0 2 2 2.</_>" * 3, "<rects>: 4 rectangles; 1 to 3 are allowed"),
    ("<_>12 3 4 4 -1.</_>", "", "<rects>: the sequence is empty"),
    ("<tilted>1<", "<tilted>yes<", "line 17, <tilted>: 'yes' is not allowed: it must be an integer"),
    ("<stages>", "<stages>x", "the text 'x' is beside elements"),
    ("<stages>", "<stages><stage/>", "<stages>: <stage> in a sequence; only <_> is allowed"),
    ("<cascade>", "<first/><cascade>", "<first>: not a cascade"),
    ("</cascade>", "</casc>", "not valid XML: mismatched tag"),
    ("<cascade>", "<cascade>&x;", "not valid XML: undefined entity"),
    ("<cascade>", "<cascade>\x01", "not valid XML"),
    ("<cascade>", "<cascade>" + "<a>" * 40, "line 3: elements nested deeper than 32 are not allowed"),
    ("<cascade>", "<cascade>\0", "null bytes"),
    ("</opencv_storage>", "</opencv_storage><a/>", "not valid XML"),
]


def assert_rejected(data, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        read_opencv(data)
    assert len(str(caught.value)) < 300


def edited(data, old, new):
    assert data.count(old.encode()) >= 1, old
    return data.replace(old.encode(), new.encode())


def test_unedited_files_load():
    for data in (HAAR_FILE, LBP_FILE, OLD_FILE):
        assert read_opencv(data).n_stages >= 1


@pytest.mark.parametrize(("new", "message"), NUMBERS)
def test_reader_rejects_numbers_that_are_not_finite_decimals(new, message):
    assert_rejected(edited(HAAR_FILE, "0.1 0.2 0.3", f"0.1 {new} 0.3"), "line 13, <leafValues>: .*" + message)


@pytest.mark.parametrize(("new", "message"), INTEGERS)
def test_reader_rejects_integers_beyond_32_bits(new, message):
    assert_rejected(edited(HAAR_FILE, "<width>24<", f"<width>{new}<"), message)


@pytest.mark.parametrize(("old", "new", "message"), HAAR_EDITS)
def test_error_names_the_line_and_the_element(old, new, message):
    data = edited(HAAR_FILE, old, new)
    if message is None:
        evaluate(read_opencv(data))
    else:
        assert_rejected(data, message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<rect>", "<rect>1 ", "<rect>: 5 numbers are not allowed: there must be 4"),
        ("<internalNodes>", "<internalNodes>1 ", "there must be a multiple of 11"),
        ("LBP", "HAAR", "HAAR features require 0"),
        ("<width>24<", "<width>8<", "is not inside the 8 x 20 window"),
        ("rect>", "rects>", "the element <rect> is missing"),
        ("0 -1 0 ", "0 -1 0.5 ", "it must be an integer"),
    ],
)
def test_lbp_files_are_checked(old, new, message):
    assert_rejected(edited(LBP_FILE, old, new), message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("24 20</size>", "24</size>", "<size>: 1 numbers are not allowed: there must be 2"),
        ("<left_node>1</left_node>", "", "<_>: exactly one of <left_val> and <left_node> is required"),
        ("<left_node>1<", "<left_node>0<", "<left_node> 0 is not allowed"),
        ("<left_node>1<", "<left_node>2<", "left: a child must be a later node"),
        ("left_node>", "left_val>", "2 nodes with 4 leaves; 3 leaves are required"),
        ("<threshold>", "<threshold>1 ", "2 numbers are not allowed: there must be 1"),
        ("<trees>", "<tree>", "not valid XML"),
        ("stage_threshold", "threshold", "the element <stage_threshold> is missing"),
        ("feature>", "f>", "the element <feature> is missing"),
    ],
)
def test_old_files_are_checked(old, new, message):
    assert_rejected(edited(OLD_FILE, old, new), message)


@pytest.mark.parametrize("data", [HAAR_FILE, LBP_FILE, OLD_FILE], ids=["haar", "lbp", "old"])
def test_a_truncated_file_is_rejected(data):
    for length in range(0, data.rindex(b">"), 5):
        assert_rejected(data[:length], "not valid XML")


BOMB = b'<!DOCTYPE a [<!ENTITY a "xxxxxxxxxx">' + b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
)


@pytest.mark.parametrize(
    "declared",
    [
        BOMB + b"]>",
        b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        b'<!DOCTYPE a SYSTEM "http://localhost/a.dtd">',
        b'<!DOCTYPE a [<!ENTITY % p "x">]>',
        b"<!DOCTYPE a>",
        b'<!ENTITY a "b">',
    ],
)
def test_reader_rejects_document_types_and_entities(declared):
    data = HAAR_FILE.replace(b"<opencv_storage>", declared + b"<opencv_storage>").replace(b"0.2", b"&j;")
    assert_rejected(data, "line 2: <!(DOCTYPE|ENTITY) is not allowed in a cascade file")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "cp037"])
def test_other_encodings_are_rejected(encoding):
    assert_rejected(HAAR_FILE.decode().encode(encoding), "null bytes|not valid UTF-8|not valid XML")


def test_declared_encoding_is_ignored():
    data = HAAR_FILE.replace(b'"1.0"', b'"1.0" encoding="cp037"')
    assert pack_cascade(read_opencv(data)) == pack_cascade(read_opencv(HAAR_FILE))
    assert_rejected(data.replace(b"<cascade>", b"<cascade><!-- \xff -->"), "byte [0-9]+ is not valid UTF-8")


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 100, b"GIF89a", b"{}", b"<a/>", b"<opencv_storage/>", b"%YAML:1.0\n---\n", b"<"]
)
def test_other_files_are_rejected(data):
    assert_rejected(data, ".")


ATTACKS = """
import resource, sys
from hedgerow.container import ModelFileError
from hedgerow.vision.opencv import read_opencv
def peak():
    unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, KiB on Linux
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
M = 2 << 20
a, z = b"<opencv_storage>", b"</opencv_storage>"
files = {
    "comment": lambda: a + b"<!--" + b"x" * M + b"-->" + z,
    "text": lambda: a + b"1 " * (M // 2) + z,
    "attribute": lambda: b"<opencv_storage a='" + b"x" * M + b"'/>",
    "attributes": lambda: b"<opencv_storage" + b"".join(b" a%x=''" % n for n in range(M // 11)) + b"/>",
    "name": lambda: b"<" + b"x" * M + b"/>",
    "elements": lambda: a + b"<_/>" * ((1 << 19) + 1) + z,
    "tags": lambda: a + b"<_/>" * (1 << 20) + z,
    "names": lambda: a + b"".join(b"<a%x/>" % n for n in range(40000)) + z,
    "depth": lambda: b"<a>" * (M // 3),
    "brackets": lambda: b"<" * M,
    "instructions": lambda: a + b"<?a?>" * (M // 5) + z,
    "references": lambda: a + b"&#49;" * (M // 5) + z,
    "zeros": lambda: bytes(1 << 27),
}
before = peak()
for name, make in files.items():
    try:
        read_opencv(make())
    except ModelFileError as error:
        assert len(str(error)) < 300
    else:
        raise AssertionError(name)
sys.stdout.write(str(peak() - before))
"""


def test_large_hostile_files_are_rejected_in_bounded_memory():
    pytest.importorskip("resource", reason="the peak of memory is measured on Unix only")
    done = subprocess.run([sys.executable, "-c", ATTACKS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 400  # MiB, with the 128 of the largest file


def test_a_file_over_the_limit_is_rejected():
    assert_rejected(HAAR_FILE + b" " * MAX_BYTES, "bytes are too many: an XML file may have at most 16777216")


def test_starts_that_wrap_around_are_rejected():
    contents = unpack(pack_cascade(make_model(seed=1, stages=4, trees=1)))
    wrapped = np.array([0, 2**31 - 1, -(2**31), -1, 4], np.int32)
    for name in ("stage_starts", "tree_starts"):
        with pytest.raises(ModelFileError, match=f"{name}: must increase strictly"):
            unpack_cascade(pack(contents.text, contents.arrays | {name: wrapped}))


def test_shapes_too_large_for_numpy_are_rejected():
    for shape in ("[0,4611686018427387904]", "[0,9223372036854775808]", "[" + "1," * 99 + "1]"):
        stored = "[0,0]" if shape.startswith("[0") else "[0,1]"
        head = '{"__metadata__":{"hedgerow":"{}"},"left":{"dtype":"U8","shape":%s,"data_offsets":%s}}'
        head = (head % (shape, stored)).encode()
        with pytest.raises(ModelFileError):
            unpack_cascade(len(head).to_bytes(8, "little") + head + bytes(stored == "[0,1]"))


def test_arrays_are_read_only_copies():
    model = make_model(HAAR)
    left = model.left.copy()
    copied = dataclasses.replace(model, left=left)
    left[:] = 2**30
    assert copied.left.max() < 2**30
    with pytest.raises(ValueError, match="read-only"):
        model.left[:] = 2**30


@pytest.mark.parametrize("side", [12.5, "24", None, np.float64(24)])
def test_window_sides_must_be_integers(side):
    with pytest.raises(ModelFileError, match=r"width is .*; it must be an integer"):
        dataclasses.replace(make_model(HAAR), width=side)


def test_window_sides_do_not_wrap_around():
    with pytest.raises(ModelFileError, match="at most"):
        dataclasses.replace(make_model(HAAR), width=np.int32(65536), height=np.int32(65536))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a><b/>" + b"<c/>" * 30, r"tags are not allowed"),
        (b"<a " + b" ".join(b"b%d='1'" % i for i in range(30)) + b"/>", r"too many attributes"),
        (b"<opencv_storage><a>" + b"x" * 60 + b"</a></opencv_storage>", r"a text of more than 50 characters"),
    ],
)
def test_xml_limits(data, message, monkeypatch):
    monkeypatch.setattr(opencv_xml, "MAX_ELEMENTS", 10)
    monkeypatch.setattr(opencv_xml, "MAX_ATTRIBUTES", 10)
    monkeypatch.setattr(opencv_xml, "MAX_TEXT", 50)
    with pytest.raises(ModelFileError, match=message):
        opencv_xml.parse_storage(data)


def test_xml_with_too_many_elements_is_rejected(monkeypatch):
    monkeypatch.setattr(opencv_xml, "MAX_ELEMENTS", 5)
    with pytest.raises(ModelFileError, match=r"more than 5 elements are not allowed"):
        opencv_xml.parse_storage(b"<opencv_storage>" + b"<a/>" * 7 + b"</opencv_storage>")


def test_parser_rejects_document_types(monkeypatch):
    monkeypatch.setattr(opencv_xml, "_check_bytes", lambda _: None)
    with pytest.raises(ModelFileError, match=r"a document type or entity is not allowed"):
        opencv_xml.parse_storage(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")
