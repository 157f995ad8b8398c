"""The page: parts are escaped and valid, drawings are inline and close after themselves."""

import re

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


def whole_page(*parts):
    return render_page("Title", [Section("one", "One", page.join(*parts)), Section("two", "Two", Markup(""))])


def test_every_part_escapes_what_it_is_given():
    parts = [
        page.paragraph(NASTY),
        page.heading(NASTY),
        page.listing([NASTY]),
        page.bullets([NASTY, page.code(NASTY)]),
        page.key_figures([(NASTY, NASTY, NASTY)]),
        page.table(NASTY, [NASTY, NASTY], [[NASTY, NASTY]], numbers=[1], marked=[0]),
        page.figure(drawing(NASTY), NASTY, NASTY),
        page.histogram([1, 2], NASTY),
    ]
    html = render_page(NASTY, [Section("one", NASTY, page.join(*parts))], lead=NASTY)
    assert not faults(html)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 15


def test_a_page_has_contents_that_lead_to_its_sections():
    html = whole_page(page.paragraph("a"))
    assert '<li><a href="#two">Two</a></li>' in html
    assert '<h2 id="two">Two</h2>' in html
    assert '<a class="skip" href="#one">' in html
    assert not faults(html)


def test_the_checks_of_these_tests_find_faults():
    good = whole_page(page.paragraph("a"))
    for bad in (
        good.replace("</p>", '</p><img alt="" src="http://example.org/a.png">', 1),
        good.replace("</p>", "</p><script>1</script>", 1),
        good.replace("</p>", '</p><h4 id="two">x</h4>', 1),
        good.replace("</p>", '</p><svg viewBox="0 0 1 1"></svg>', 1),
        good.replace("<style>", "<style>@import 'x.css';", 1),
        good.replace('href="#two"', 'href="#three"'),
        good.replace('lang="en"', ""),
    ):
        assert bad != good
        assert faults(bad)


def test_the_same_id_twice_is_refused():
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
def test_names_that_are_no_ids_are_refused(name):
    with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
        page.figure(drawing(), "c", "a", name=name)
    with pytest.raises(ValueError, match="lower-case letters, digits and hyphens"):
        Section(name, "title", Markup(""))


def test_a_body_that_is_plain_text_is_refused():
    with pytest.raises(TypeError, match="body of section 'one' must be Markup"):
        Section("one", "One", "<p>unchecked</p>")


def test_rows_of_another_length_are_refused():
    with pytest.raises(ValueError, match="table 'T' has 2 columns, and a row of 1 cells"):
        page.table("T", ["a", "b"], [["1"]])


# --- drawings


def test_text_of_a_drawing_stays_text_in_the_fonts_of_the_page():
    html = inline_svg(drawing("Words é"), "alt", "plot")
    assert "Words é</text>" in html
    assert "DejaVu" not in html
    assert "font-family" not in html


def test_colours_of_a_drawing_are_variables():
    html = inline_svg(drawing(colour="#deebf7"), "alt", "plot")
    assert not re.search(r"#[0-9a-fA-F]{6}", html)
    assert "var(--ink)" in html
    assert "var(--paper)" in html
    assert "stroke: var(--c-deebf7)" in html
    whole = whole_page(page.figure(drawing(colour="#deebf7"), "c", "a"))
    assert "--c-deebf7: #deebf7" in whole
    assert f"--c-deebf7: {dark('#deebf7')}" in whole


def test_the_page_defines_every_variable_that_it_uses():
    html = whole_page(page.figure(drawing(), "c", "a"), page.table("T", ["a"], [["1"]]))
    used = set(re.findall(r"var\((--[\w-]+)\)", html))
    assert used - set(re.findall(r"(--[\w-]+):", html)) == set()


def test_ids_of_a_drawing_are_those_that_something_refers_to():
    html = inline_svg(drawing(), "alt", "plot")
    ids = re.findall(r' id="([^"]+)"', html)
    assert ids
    assert set(ids) == set(re.findall(r'(?:href="|url\()#([^")]+)', html))
    assert all(name.startswith("plot-") for name in ids)


def test_a_drawing_has_no_style_for_the_whole_page_and_no_metadata():
    html = inline_svg(drawing(), "alt", "plot")
    assert "<style" not in html
    assert "<metadata" not in html
    assert "<?xml" not in html
    assert "<!DOCTYPE" not in html
    assert "http" not in html


def test_shapes_of_a_drawing_are_those_that_matplotlib_wrote():
    found = drawn(inline_svg(drawing(), "alt", "plot"))
    assert len(found.findall(f".//{SVG}use")) >= 3  # the three points
    assert found.get("viewbox", found.get("viewBox")) == "0 0 288 216"
    line = [one.get("d") for one in found.iter(f"{SVG}path") if "var(--blue)" in (one.get("style") or "")]
    assert any(path.count("L") == 2 for path in line)


def test_the_same_figure_gives_the_same_bytes_under_any_settings():
    first = inline_svg(drawing(), "alt", "")
    with mpl.rc_context({"svg.hashsalt": "other", "svg.fonttype": "path", "font.size": 10}):
        assert inline_svg(drawing(), "alt", "") == first


def test_pyplot_keeps_no_figure_and_settings_stay():
    before, settings = plt.get_fignums(), dict(mpl.rcParams)
    figure = plt.figure()
    figure.add_subplot().plot([1, 2])
    page.figure(figure, "c", "a")
    assert plt.get_fignums() == before
    assert dict(mpl.rcParams) == settings


def test_a_display_is_drawn_by_its_figure():
    class Display:
        figure_ = drawing("of the display")

    assert "of the display</text>" in page.figure(Display(), "c", "a")


# --- colours and words


def contrast(one, other):
    def brightness(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    bright, dim = sorted([brightness(one), brightness(other)], reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("on_black", [False, True])
def test_text_and_lines_stand_out_from_the_paper(on_black):
    colours = {name: pair[on_black] for name, pair in NAMED.items()}
    assert contrast(colours["ink"], colours["paper"]) > 7
    assert contrast(colours["blue"], colours["paper"]) > 4.5  # links
    for name in colours.keys() - {"paper"}:
        assert contrast(colours[name], colours["paper"]) > 2, name


def test_the_soft_text_and_tinted_grounds_have_contrast_too():
    css = whole_page(page.paragraph("a"))
    grounds = re.findall(r"--(band|tint): (#[0-9a-f]{6})", css)
    light, night = dict(grounds[:2]), dict(grounds[2:4])
    for shades, on_black in ((light, False), (night, True)):
        for ground in (shades["band"], shades["tint"], NAMED["paper"][on_black]):
            assert contrast(NAMED["soft"][on_black], ground) > 4.5
            assert contrast(NAMED["ink"][on_black], ground) > 7


def test_colours_of_plots_have_names():
    for colour in (*style.COLOURS, style.INK, style.FAINT, style.SOFT, "#ffffff"):
        assert "--c-" not in variable(colour)


@pytest.mark.parametrize("on_black", [False, True])
def test_words_of_any_house_colour_have_a_contrast_of_four_and_a_half(on_black):
    for colour in (*style.COLOURS, style.INK, style.FAINT, style.SOFT):
        name = variable(colour, of_text=True).removeprefix("var(--").removesuffix(")")
        shown = re.search(rf"--{name}: (#[0-9a-f]{{6}})", definitions("", on_black=on_black))[1]
        assert contrast(shown, NAMED["paper"][on_black]) >= 4.5, name


@pytest.mark.parametrize("as_paths", [False, True])
def test_words_have_colours_of_text_and_lines_those_of_lines(as_paths):
    figure = Figure(figsize=(3, 2))
    ax = figure.add_subplot()
    ax.plot([0, 1], color=style.VERMILLION)
    text = ax.text(0.5, 0.5, "words", color=style.VERMILLION)
    text.set_path_effects(halo() if as_paths else [])
    html = inline_svg(figure, "a line", "colours")
    assert html.count("stroke: var(--vermillion)") == 1
    assert "fill: var(--vermillion-text)" in html
    assert "fill: var(--vermillion)" not in html


def blended(colour, opacity, paper):
    parts = [
        opacity * int(colour[place : place + 2], 16) + (1 - opacity) * int(paper[place : place + 2], 16)
        for place in (1, 3, 5)
    ]
    return "#" + "".join(f"{round(part):02x}" for part in parts)


@pytest.mark.parametrize("on_black", [False, True])
def test_figures_in_a_confusion_matrix_can_be_read_on_any_shade(on_black):
    wrong = np.arange(0, 101, 5)
    for count in wrong:
        display = ConfusionMatrixDisplay.from_predictions(
            [0] * 100 + [1], [1] * count + [0] * (100 - count) + [1]
        )
        for patch, shown in zip(display.ax_.patches, display.ax_.texts, strict=True):
            names = [variable(mpl.colors.to_hex(one)) for one in (patch.get_facecolor(), shown.get_color())]
            cell, ink = (NAMED[name.removeprefix("var(--").removesuffix(")")][on_black] for name in names)
            ground = blended(cell, patch.get_alpha(), NAMED["paper"][on_black])
            assert contrast(ink, ground) >= 4.5, (text.get_text(), on_black)
        plt.close(display.figure_)


def test_names_with_dollars_are_no_formulas_and_rare_letters_no_warnings():
    with figure_settings():
        display = ConfusionMatrixDisplay.from_predictions(
            ["$\\frac$", "\U0001f333"], ["$\\frac$", "$\\frac$"]
        )
        html = page.figure(display, "a", "b")  # warnings are errors here
    assert "$\\frac$" in html
    assert "\U0001f333" in html


def test_what_is_folded_is_whole_on_paper():
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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (0.0, "0"),
        (1e-9, "1.000e−09"),
        (123456.7, "123,457"),
        (99.96, "99.96"),
        (-0.00012, "−0.00012"),
        (1e15, "1.000e+15"),
    ],
)
def test_numbers_have_as_many_digits_as_mean_something(given, told):
    assert text.number(given) == told
