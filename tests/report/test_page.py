"""Pages: elements are escaped and valid, drawings are inline SVG, colours have contrast."""

import re
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from markupsafe import Markup
from matplotlib.figure import Figure

from hedgerow.plots import ConfusionMatrixDisplay, style
from hedgerow.plots.labels import halo
from hedgerow.report import page, text
from hedgerow.report.page import Section, render_page
from hedgerow.report.svg import NAMED, dark, definitions, figure_settings, inline_svg, variable
from report_cases import SVG, faults, parsed

NASTY = "<script>alert('x')</script> & \"quotes\" ]]> --> \u2028 é"


def drawing(title="A plot", colour=style.BLUE):
    figure = Figure(figsize=(4, 3))
    ax = figure.add_subplot()
    ax.plot([1, 2, 3], [1, 4, 9], "o-", color=colour, label=title, clip_on=True)
    ax.set_title(title, color=style.INK)
    ax.legend()
    return figure


def drawn(html):
    return parsed(f"<!DOCTYPE html><html lang=en><title>x</title><body>{html}</body>").find(f".//{SVG}svg")


def whole_page(*elements):
    sections = [Section("one", "One", page.join(*elements)), Section("two", "Two", Markup(""))]
    return render_page("Title", sections)


def test_every_element_escapes_its_texts():
    elements = [
        page.paragraph(NASTY),
        page.heading(NASTY),
        page.listing([NASTY]),
        page.bullets([NASTY, page.code(NASTY)]),
        page.key_figures([(NASTY, NASTY, NASTY)]),
        page.table(NASTY, [NASTY, NASTY], [[NASTY, NASTY]], numbers=[1], marked=[0]),
        page.figure(drawing(NASTY), NASTY, NASTY),
        page.histogram([1, 2], NASTY),
    ]
    html = render_page(NASTY, [Section("one", NASTY, page.join(*elements))], lead=NASTY)
    assert not faults(html)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 15


def test_page_has_contents_with_links_to_its_sections():
    html = whole_page(page.paragraph("a"))
    assert '<li><a href="#two">Two</a></li>' in html
    assert '<h2 id="two">Two</h2>' in html
    assert '<a class="skip" href="#one">' in html
    assert not faults(html)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</p>", '</p><img alt="" src="http://example.org/a.png">'),
        ("</p>", "</p><script>1</script>"),
        ("</p>", '</p><h4 id="two">x</h4>'),
        ("</p>", '</p><svg viewBox="0 0 1 1"></svg>'),
        ("<style>", "<style>@import 'x.css';"),
        ('href="#two"', 'href="#three"'),
        ('lang="en"', ""),
    ],
)
def test_faults_finds_faults(old, new):
    html = whole_page(page.paragraph("a"))
    assert old in html
    assert faults(html.replace(old, new, 1))


def test_repeated_ids_are_rejected():
    with pytest.raises(ValueError, match="the id 'one' is on the page more than once"):
        render_page("x", [Section("one", "1", Markup("")), Section("one", "2", Markup(""))])
    same = [page.figure(drawing(), "c", "a", name="plot") for _ in range(2)]
    with pytest.raises(ValueError, match="'plot-1' is on the page more than once"):
        whole_page(*same)


def test_drawings_without_names_get_their_own_ids():
    html = whole_page(*(page.figure(drawing(name), "c", "a") for name in ("one", "two")))
    assert not faults(html)
    assert len(set(re.findall(r'id="(f[0-9a-f]{12})-1"', html))) == 2


@pytest.mark.parametrize("name", ["Upper", "1a", "a b", 'a"b'])
def test_invalid_ids_are_rejected(name):
    with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
        page.figure(None, "c", "a", name=name)
    with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
        Section(name, "title", Markup(""))


def test_plain_text_bodies_and_incomplete_rows_are_rejected():
    with pytest.raises(TypeError, match="body of section 'one' must be Markup"):
        Section("one", "One", "<p>unchecked</p>")
    with pytest.raises(ValueError, match="table 'T' has 2 columns, and a row of 1 cells"):
        page.table("T", ["a", "b"], [["1"]])


# --- drawings


def test_drawing_has_text_ids_that_are_used_and_no_metadata():
    html = inline_svg(drawing("Title é"), "alt", "plot")
    assert "Title é</text>" in html
    for absent in ("DejaVu", "font-family", "<style", "<metadata", "<?xml", "<!DOCTYPE", "http"):
        assert absent not in html
    ids = re.findall(r' id="([^"]+)"', html)
    assert ids
    assert set(ids) == set(re.findall(r'(?:href="|url\()#([^")]+)', html))
    assert all(name.startswith("plot-") for name in ids)


def test_colours_of_a_drawing_are_variables_that_the_page_defines():
    html = inline_svg(drawing(colour="#deebf7"), "alt", "plot")
    assert not re.search(r"#[0-9a-fA-F]{6}", html)
    for used in ("var(--ink)", "var(--paper)", "stroke: var(--c-deebf7)"):
        assert used in html
    whole = whole_page(html, page.table("T", ["a"], [["1"]]))
    assert "--c-deebf7: #deebf7" in whole
    assert f"--c-deebf7: {dark('#deebf7')}" in whole
    assert set(re.findall(r"var\((--[\w-]+)\)", whole)) <= set(re.findall(r"(--[\w-]+):", whole))


def test_shapes_of_a_drawing_are_those_of_matplotlib():
    found = drawn(inline_svg(drawing(), "alt", "plot"))
    assert len(found.findall(f".//{SVG}use")) >= 3  # the three points
    assert found.get("viewbox", found.get("viewBox")) == "0 0 288 216"
    line = [one.get("d") for one in found.iter(f"{SVG}path") if "var(--blue)" in (one.get("style") or "")]
    assert any(path.count("L") == 2 for path in line)


def test_the_same_figure_gives_the_same_bytes_under_any_settings():
    first = inline_svg(drawing(), "alt", "")
    with mpl.rc_context({"svg.hashsalt": "other", "svg.fonttype": "path", "font.size": 10}):
        assert inline_svg(drawing(), "alt", "") == first


def test_figures_of_displays_are_closed_and_settings_restored():
    before, settings = plt.get_fignums(), dict(mpl.rcParams)
    figure = plt.figure()
    figure.add_subplot().set_title("of the display")
    assert "of the display</text>" in page.figure(SimpleNamespace(figure_=figure), "c", "a")
    assert plt.get_fignums() == before
    assert dict(mpl.rcParams) == settings


# --- colours and texts


def contrast(one, other):
    def brightness(colour):
        channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [
            channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
            for channel in channels
        ]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    bright, dim = sorted([brightness(one), brightness(other)], reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("on_black", [False, True])
def test_colours_have_contrast_with_the_background(on_black):
    colours = {name: pair[on_black] for name, pair in NAMED.items()}
    assert contrast(colours["blue"], colours["paper"]) > 4.5  # links
    for name in colours.keys() - {"paper"}:
        assert contrast(colours[name], colours["paper"]) > 2, name
    tints = re.findall(r"--(?:band|tint): (#[0-9a-f]{6})", whole_page(page.paragraph("a")))
    for background in (*tints[2 * on_black :][:2], colours["paper"]):
        assert contrast(colours["soft"], background) > 4.5
        assert contrast(colours["ink"], background) > 7
    for colour in (*style.COLOURS, style.INK, style.FAINT, style.SOFT):
        assert "--c-" not in variable(colour)
        name = variable(colour, of_text=True).removeprefix("var(--").removesuffix(")")
        shown = re.search(rf"--{name}: (#[0-9a-f]{{6}})", definitions("", on_black=on_black))[1]
        assert contrast(shown, colours["paper"]) >= 4.5, name


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_links_of_the_documentation_have_contrast(scheme):
    css = (Path(__file__).parents[2] / "docs" / "site.css").read_text(encoding="utf-8")
    rule = re.search(
        rf'\[data-md-color-scheme="{scheme}"\]\[data-md-color-primary="green"\] {{(.*?)}}', css, re.DOTALL
    )
    colours = dict(re.findall(r"--md-([\w-]+): (#[0-9a-f]{6});", rule[1]))
    for name in ("typeset-a-color", "accent-fg-color"):
        assert contrast(colours[name], colours["default-bg-color"]) >= 4.5, name


@pytest.mark.parametrize("on_black", [False, True])
def test_links_of_a_report_have_contrast_on_every_background(on_black):
    html = whole_page(page.paragraph("a"))
    assert re.search(r"^a { color: var\(--blue\)", html, re.MULTILINE)
    tints = re.findall(r"--(?:band|tint): (#[0-9a-f]{6})", html)[2 * on_black :][:2]
    for background in (*tints, NAMED["paper"][on_black]):
        assert contrast(NAMED["blue"][on_black], background) >= 4.5, background


@pytest.mark.parametrize("as_paths", [False, True])
def test_texts_and_lines_have_their_own_colours(as_paths):
    figure = Figure(figsize=(3, 2))
    ax = figure.add_subplot()
    ax.plot([0, 1], color=style.VERMILLION)
    label = ax.text(0.5, 0.5, "label", color=style.VERMILLION)
    label.set_path_effects(halo() if as_paths else [])
    html = inline_svg(figure, "a line", "colours")
    assert html.count("stroke: var(--vermillion)") == 1
    assert "fill: var(--vermillion-text)" in html
    assert "fill: var(--vermillion)" not in html


def blended(colour, opacity, paper):
    channels = [
        opacity * int(colour[start : start + 2], 16) + (1 - opacity) * int(paper[start : start + 2], 16)
        for start in (1, 3, 5)
    ]
    return "#" + "".join(f"{round(channel):02x}" for channel in channels)


def test_numbers_of_a_confusion_matrix_have_contrast_on_any_shade():
    y = np.repeat(np.arange(12), 100)
    wrong = 9 * (y + 1) > np.arange(1200) % 100  # 9 % to 100 % of a row
    display = ConfusionMatrixDisplay.from_predictions(y, np.where(wrong, (y + 1) % 12, y))
    for patch, shown in zip(display.ax_.patches, display.ax_.texts, strict=True):
        names = [variable(mpl.colors.to_hex(one)) for one in (patch.get_facecolor(), shown.get_color())]
        fills, inks = (NAMED[name.removeprefix("var(--").removesuffix(")")] for name in names)
        for fill, ink, paper in zip(fills, inks, NAMED["paper"], strict=True):
            assert contrast(ink, blended(fill, patch.get_alpha(), paper)) >= 4.5, shown.get_text()
    plt.close(display.figure_)


def test_names_with_dollars_and_rare_letters_stay_text():
    with figure_settings():
        display = ConfusionMatrixDisplay.from_predictions(
            ["$\\frac$", "\U0001f333"], ["$\\frac$", "$\\frac$"]
        )
        html = page.figure(display, "a", "b")  # warnings are errors here
    assert "$\\frac$" in html
    assert "\U0001f333" in html


def test_folded_elements_are_printed():
    html = whole_page(page.folded("More", page.table("T <x>", ["a"], [["1"]])))
    assert not faults(html)
    assert html.count("<td") + html.count('<th scope="row"') == 2
    screen, paper = html.split("@media print", 1)
    assert ".paper { display: none; }" in screen
    assert ".paper { display: block; }" in paper
    assert "details { display: none; }" in paper


def test_dark_colours_keep_their_order_and_hue():
    shades = ["#ffffff", "#deebf7", "#9ecae1", "#3182bd", "#08519c"]
    on_black = [contrast(dark(shade), "#000000") for shade in shades]
    assert on_black == sorted(on_black)
    red = dark("#aa3333")
    assert int(red[1:3], 16) > int(red[3:5], 16)


def test_numbers_have_significant_digits():
    found = [text.number(number) for number in (0.0, 1e-9, 123456.7, 99.96, -0.00012, 1e15)]
    assert found == ["0", "1.000e−09", "123,457", "99.96", "−0.00012", "1.000e+15"]
