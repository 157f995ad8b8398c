"""Files as spreadsheets, databases and instruments export them, each with its expected content or error.

A case is (name of the file, content, checks). Content is text, bytes or a function that writes the file.
Checks:

columns   name -> values of the column as `read_data` returns them
says      texts that the statements contain
silent    True if there are no statements at all
error     regular expression of the error of `read_data`
path      what is passed instead of the name of the file
options   ReadOptions
"""

import datetime as dt
import gzip
import io
import sqlite3
import zipfile
from typing import Any, NamedTuple

import duckdb
import openpyxl

from hedgerow.datafiles import ReadOptions


class Case(NamedTuple):
    name: str
    content: Any
    columns: dict[str, list[Any]] = {}  # noqa: RUF012
    says: tuple[str, ...] = ()
    silent: bool = False
    error: str = ""
    path: str = ""
    options: ReadOptions | None = None


def day(*numbers):
    return dt.date(*numbers)


def moment(*numbers):
    return dt.datetime(*numbers)  # noqa: DTZ001


def utc(*numbers):
    return dt.datetime(*numbers, tzinfo=dt.UTC)


def lines(*texts):
    return "".join(text + "\n" for text in texts)


def zipped(**files):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return target.getvalue()


def workbook(sheets):
    def write(path):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(path)

    return write


def sqlite(tables):
    def write(path):
        with sqlite3.connect(path) as database:
            for name, (columns, rows) in tables.items():
                database.execute(f'create table "{name}" ({columns})')
                marks = ", ".join("?" * len(rows[0]))
                database.executemany(f'insert into "{name}" values ({marks})', rows)  # noqa: S608
        database.close()

    return write


def duck(path):
    with duckdb.connect(str(path)) as database:
        database.execute("create table cars (age integer, born date, hue text)")
        database.execute("insert into cars values (1, '2024-05-17', 'red'), (null, null, 'blue')")


def duck_times(path):
    with duckdb.connect(str(path)) as database:
        database.execute("create table trips (start time)")
        database.execute("insert into trips values ('14:05'), (null)")


EXCEL = lines(
    '"Name","Amount","Share","Date","Code"',
    '"Müller","$1,234.50","12 %","1/31/2024","007"',
    '"Lee, Ann","($200.00)","3.5 %","2/1/2024","012"',
    '"O\'Hara","n/a","#DIV/0!","","100"',
)
READ_EXCEL = {
    "Name": ["Müller", "Lee, Ann", "O'Hara"],
    "Amount": [1234.5, -200.0, None],
    "Share": [12.0, 3.5, None],
    "Date": [day(2024, 1, 31), day(2024, 2, 1), None],
    "Code": ["007", "012", "100"],
}
BOOK = [["name", "size", "when"], ["Ann", 1.5, moment(2024, 5, 17)], ["Bob", None, moment(2024, 5, 18)]]
READ_BOOK = {
    "name": ["Ann", "Bob"],
    "size": [1.5, None],
    "when": [day(2024, 5, 17), day(2024, 5, 18)],
}
NA_ROWS = ("a,b", "1,x", "2,y")

CASES = {
    # --- whole files
    "Excel export of five columns": Case("e.csv", EXCEL, READ_EXCEL),
    "the same in Windows-1252": Case("e.csv", EXCEL.encode("cp1252"), READ_EXCEL, says=("Windows-1252",)),
    "the same in UTF-16": Case("e.csv", EXCEL.encode("utf-16"), READ_EXCEL),
    "the same in UTF-16 without mark": Case("e.csv", EXCEL.encode("utf-16-le"), READ_EXCEL, says=("UTF-16",)),
    "the same in UTF-8 with a mark": Case("e.csv", EXCEL.encode("utf-8-sig"), READ_EXCEL),
    "the same with carriage returns": Case("e.csv", EXCEL.replace("\n", "\r"), READ_EXCEL),
    "the same with Windows line ends": Case("e.csv", EXCEL.replace("\n", "\r\n"), READ_EXCEL),
    "the same zipped": Case("e.zip", zipped(e__csv=EXCEL), READ_EXCEL),
    "the same gzipped": Case("e.csv.gz", gzip.compress(EXCEL.encode()), READ_EXCEL),
    "the same from standard input": Case("e.csv", EXCEL, READ_EXCEL, path="-"),
    # --- separators and decimal signs
    "semicolons and decimal commas": Case(
        "a.csv", lines("a;b", "1,5;x", "2,25;y"), {"a": [1.5, 2.25], "b": ["x", "y"]}, says=("'1,5'", "1.5")
    ),
    "tabs": Case("a.tsv", lines("a\tb", "1\tx y", "2\tz"), {"a": [1, 2], "b": ["x y", "z"]}, silent=True),
    "bars": Case("a.txt", lines("a|b", "1|2", "3|4"), {"a": [1, 3], "b": [2, 4]}, silent=True),
    "separator stated by Excel": Case("a.csv", lines("sep=;", "a;b", "1,5;2"), {"a": [1.5], "b": [2]}),
    "stated separator of another kind": Case("a.csv", lines("sep=^", "a^b", "1^2"), {"a": [1], "b": [2]}),
    "trailing separators": Case("a.csv", lines("a;b;", "1;2;", "3;4;"), {"a": [1, 3], "b": [2, 4]}),
    "trailing separators of the rows only": Case(
        "a.csv", lines("a,b", "1,2,", "3,4,", "5,6,"), {"a": [1, 3, 5], "b": [2, 4, 6]}
    ),
    "trailing separator of the header only": Case(
        "a.csv", lines("a,b,", "1,2", "3,4"), {"a": [1, 3], "b": [2, 4]}
    ),
    "quoted line ends": Case("a.csv", 'a,b\n"x\ny",1\nz,2\n', {"a": ["x\ny", "z"], "b": [1, 2]}),
    "blank lines between rows": Case("a.csv", "a,b\n\n1,2\n\n3,4\n", {"a": [1, 3]}),
    # --- numbers
    "thousands by commas": Case("a.csv", lines("a;b", "1,234,567;1.5", "12;2"), {"a": [1234567, 12]}),
    "thousands by points": Case("a.csv", lines("a;b", "1.234,56;x", "7,5;y"), {"a": [1234.56, 7.5]}),
    "thousands by spaces": Case(
        "a.csv", lines("a,b", "1 234,x", "1\u00a0234\u202f567,y"), {"a": [1234, 1234567]}
    ),
    "thousands by apostrophes": Case(
        "a.csv", lines("a,b", "1'234.5,x", "7\u2019000,y"), {"a": [1234.5, 7000.0]}
    ),
    "lakh and crore": Case("a.csv", lines("a;b", '"12,34,567";x', '"5";y'), {"a": [1234567, 5]}),
    "points that separate thousands in a file with decimal commas": Case(
        "a.csv", lines("a;b", "1.234;0,5", "2.500;1,25"), {"a": [1234, 2500], "b": [0.5, 1.25]}
    ),
    "commas that are decimal because of another column": Case(
        "a.csv", lines("a;b", "1,234;0,5", "2,500;1,25"), {"a": [1.234, 2.5]}, says=("other columns decide",)
    ),
    "commas that separate thousands because of another column": Case(
        "a.csv", lines("a;b", "1,234;0.5", "2,500;1.25"), {"a": [1234, 2500]}, says=("other columns decide",)
    ),
    "commas that nothing decides": Case(
        "a.csv",
        lines("a;b", "1,234;x", "2,500;y"),
        {"a": [1.234, 2.5]},
        says=("nothing in the file decides",),
    ),
    "the decimal sign is stated": Case(
        "a.csv",
        lines("a;b", "1,234;x", "2,500;y"),
        {"a": [1234, 2500]},
        options=ReadOptions(decimal="."),
    ),
    "points that nothing decides in a file of semicolons": Case(
        "a.csv",
        lines("a;b", "1.234;x", "2.345;y", "12;z"),
        {"a": [1234, 2345, 12]},
        says=("'1.234' are read as 1234", "nothing in the file decides; --decimal . reads them"),
    ),
    "the same with a stated decimal sign": Case(
        "a.csv",
        lines("a;b", "1.234;x", "2.345;y", "12;z"),
        {"a": [1.234, 2.345, 12.0]},
        options=ReadOptions(decimal="."),
        silent=True,
    ),
    "the same beside a column of decimal points": Case(
        "a.csv", lines("a;b", "1.234;0.5", "2.345;1.25"), {"a": [1.234, 2.345]}, silent=True
    ),
    "the same beside a column of decimal commas": Case(
        "a.csv",
        lines("a;b", "1.234;0,5", "12;1,25"),
        {"a": [1234, 12]},
        says=("'1.234' are read as 1234", "the other columns decide; --decimal . reads them"),
    ),
    "three digits after a zero are decimals": Case(
        "a.csv", lines("a;b", "0.234;x", "1.345;y"), {"a": [0.234, 1.345]}, silent=True
    ),
    "three digits after a zero and a comma are decimals": Case(
        "a.csv", lines("a|b", "0,234|x", "1,345|y"), {"a": [0.234, 1.345]}
    ),
    "commas that nothing decides in a file of commas": Case(
        "a.csv",
        lines("a,b", '"1,234",x', '"2,345",y', "12,z"),
        {"a": [1234, 2345, 12]},
        says=("'1,234' are read as 1234", "nothing in the file decides; --decimal , reads them"),
    ),
    "points without any comma in a file of commas stay decimal": Case(
        "a.csv", lines("a,b", "1.234,x"), {"a": [1.234]}, silent=True
    ),
    "dollars": Case(
        "a.csv", lines("a|b", "$1,200.50|x", "-$5|y"), {"a": [1200.5, -5.0]}, says=("'$1,200.50'",)
    ),
    "euros after the number": Case("a.csv", lines("a;b", "1.200,50 €;x", "5,00 €;y"), {"a": [1200.5, 5.0]}),
    "currency codes": Case("a.csv", lines("a,b", "CHF 12.50,x", "CHF 7,y"), {"a": [12.5, 7.0]}),
    "two currencies stay text": Case("a.csv", lines("a,b", "$12,x", "€7,y"), {"a": ["$12", "€7"]}),
    "percent": Case("a.csv", lines("a,b", "12%,x", "3.5 %,y"), {"a": [12.0, 3.5]}),
    "parentheses": Case("a.csv", lines("a,b", "(12.5),x", "7,y"), {"a": [-12.5, 7.0]}),
    "accounting": Case(
        "a.csv",
        lines("a|b", "$ 1,234.50|x", "$(1,234.50)|y", "$ (7.25)|z", " $ -   |u", "-$3.00|v"),
        {"a": [1234.5, -1234.5, -7.25, 0.0, -3.0]},
        says=("'$ 1,234.50' are read as 1234.5", "a currency with a dash in place of digits is 0"),
    ),
    "accounting in euros": Case(
        "a.csv",
        lines("a;b", "1.234,50 €;x", "(7,25) €;y", "- €;z", "-;u"),
        {"a": [1234.5, -7.25, 0.0, None]},
        says=("a currency with a dash in place of digits is 0", "'-' is read as missing in 'a' (1 row)"),
    ),
    "minus after the number": Case("a.csv", lines("a,b", "12.5-,x", "7,y"), {"a": [-12.5, 7.0]}),
    "minus sign of typography": Case("a.csv", lines("a,b", "−12.5,x", "7,y"), {"a": [-12.5, 7.0]}),
    "leading zeros stay text": Case("a.csv", lines("a,b", "01234,1", "98765,2"), {"a": ["01234", "98765"]}),
    # --- missing values
    "errors of Excel": Case(
        "a.csv",
        lines("a,b", "1,#N/A", "#DIV/0!,2", "#REF!,3", "2,#VALUE!", "########,4"),
        {"a": [1, None, None, 2, None], "b": [None, 2, 3, None, 4]},
        says=("'#DIV/0!' is read as missing in 'a' (1 row)", "'#N/A' is read as missing in 'b' (1 row)"),
    ),
    "errors of Excel in German, French and Spanish": Case(
        "a.csv",
        lines("a,b", "1,#NV", "#WERT!,2", "#NOM?,#BEZUG!", "2,#VALEUR!", "#¡VALOR!,4"),
        {"a": [1, None, None, 2, None], "b": [None, 2, None, None, 4]},
    ),
    "markers of databases": Case(
        "a.csv",
        lines("a,b", "1,NULL", "\\N,2", "null,3", "(null),4"),
        {"a": [1, None, None, None], "b": [None, 2, 3, 4]},
    ),
    "NA, dashes, points and question marks": Case(
        "a.csv",
        lines("a,b", "1,n/a", "NA,2", "-,?", ".,3", "--,4"),
        {"a": [1, None, None, None, None], "b": [None, 2, None, 3, 4]},
        says=("'NA' is read as missing in 'a' (1 row)", "'-' is read as missing in 'a' (1 row)"),
    ),
    "empty and spaces": Case("a.csv", "a,b\n1,\n  ,2\n", {"a": [1, None], "b": [None, 2]}, silent=True),
    "NA among two-letter codes is a code": Case(
        "a.csv", lines("a,b", "DE,1", "NA,2", "FR,3"), {"a": ["DE", "NA", "FR"]}, silent=True
    ),
    "a dash among texts is a text": Case("a.csv", lines("a,b", "x,1", "-,2"), {"a": ["x", "-"]}, silent=True),
    "a stated marker": Case(
        "a.csv", lines("a,b", "1,2", "-999,3"), {"a": [1, None]}, options=ReadOptions(missing=("-999",))
    ),
    # --- dates
    "German dates": Case(
        "a.csv", lines("a,b", "10.11.2024,1", "3.2.2025,2"), {"a": [day(2024, 11, 10), day(2025, 2, 3)]}
    ),
    "American dates with times": Case(
        "a.csv",
        lines("a,b", "1/1/13 22:33,1", "1/31/13 7:05,2"),
        {"a": [moment(2013, 1, 1, 22, 33), moment(2013, 1, 31, 7, 5)]},
        says=("read as month/day/year", "1969 to 2068"),
    ),
    "British dates": Case(
        "a.csv",
        lines("a,b", "1/2/2013,1", "31/1/2013,2"),
        {"a": [day(2013, 2, 1), day(2013, 1, 31)]},
        says=("read as day/month/year",),
    ),
    "dates of either order": Case(
        "a.csv",
        lines("a,b", "1/2/2013,1", "3/4/2013,2"),
        {"a": [day(2013, 1, 2), day(2013, 3, 4)]},
        says=("no value decides",),
    ),
    "either order beside a column that decides": Case(
        "a.csv",
        lines("a,b", "1/2/2013,31/1/2013", "3/4/2013,1/1/2013"),
        {"a": [day(2013, 2, 1), day(2013, 4, 3)]},
    ),
    "either order in a file with decimal commas": Case(
        "a.csv", lines("a;b", "1/2/2013;0,5"), {"a": [day(2013, 2, 1)], "b": [0.5]}
    ),
    "a stated date format": Case(
        "a.csv",
        lines("a,b", "1/2/2013,1"),
        {"a": [day(2013, 2, 1)]},
        options=ReadOptions(date_formats={"a": "%d/%m/%Y"}),
    ),
    "digits as dates": Case(
        "a.csv",
        lines("a,b", "20240517,1"),
        {"a": [day(2024, 5, 17)]},
        options=ReadOptions(date_formats={"a": "%Y%m%d"}),
    ),
    "digits in a column whose name says date": Case(
        "a.csv",
        lines("birth_date,b,Lieferdatum", "20240517,20240517,20240517", ",20240518,20240518"),
        {
            "birth_date": [day(2024, 5, 17), None],
            "b": [20240517, 20240518],
            "Lieferdatum": [day(2024, 5, 17), day(2024, 5, 18)],
        },
        says=("'birth_date' holds dates such as '20240517', read as year/month/day",),
    ),
    "digits that are ten dates": Case(
        "a.csv",
        lines("a,b", *(f"202405{number},{20240500 + 11 * number}" for number in range(10, 30))),
        {"a": [day(2024, 5, number) for number in range(10, 30)]}
        | {"b": [20240500 + 11 * number for number in range(10, 30)]},
    ),
    "digits that are no dates": Case(
        "a.csv", lines("date,b", "20240517,1", "20240532,2"), {"date": [20240517, 20240532]}, silent=True
    ),
    "times of day": Case(
        "a.csv",
        lines("a,b,c", "14:05,8:05:30,12:05 AM", "-,23:59:00.5,2:05 pm"),
        {
            "a": [dt.time(14, 5), None],
            "b": [dt.time(8, 5, 30), dt.time(23, 59, 0, 500_000)],
            "c": [dt.time(0, 5), dt.time(14, 5)],
        },
        says=("'b' holds times of day; they become minutes since midnight",),
    ),
    "hours beyond a day stay text": Case(
        "a.csv", lines("a,b", "14:05,1:2", "25:10,2:1"), {"a": ["14:05", "25:10"], "b": ["1:2", "2:1"]}
    ),
    "dates of both orders stay text": Case(
        "a.csv", lines("a,b", "13/1/2024,1", "1/13/2024,2"), {"a": ["13/1/2024", "1/13/2024"]}
    ),
    "ISO with zone": Case("a.csv", lines("a,b", "2024-05-17T10:00Z,1"), {"a": [utc(2024, 5, 17, 10)]}),
    "names of months": Case(
        "a.csv",
        lines("a|b", "17 May 2024|May 17, 2024", "3 June 2024|Jun 3, 2024"),
        {"a": [day(2024, 5, 17), day(2024, 6, 3)], "b": [day(2024, 5, 17), day(2024, 6, 3)]},
    ),
    "German names of months": Case(
        "a.csv",
        lines("a,b", "17. März 2024,1", "3. Dez. 2024,2"),
        {"a": [day(2024, 3, 17), day(2024, 12, 3)]},
    ),
    "Oracle dates": Case(
        "a.csv", lines("a,b", "17-MAY-24,1", "03-JUN-99,2"), {"a": [day(2024, 5, 17), day(1999, 6, 3)]}
    ),
    "twelve hours": Case(
        "a.csv",
        lines("a,b", "5/17/2024 12:05 AM,1", "5/17/2024 1:05:10 pm,2"),
        {"a": [moment(2024, 5, 17, 0, 5), moment(2024, 5, 17, 13, 5, 10)]},
    ),
    "headers of mail": Case(
        "a.csv", lines("a|b", "Fri, 17 May 2024 10:00:00 +0200|1"), {"a": [utc(2024, 5, 17, 8)]}
    ),
    "days of the week in German": Case(
        "a.csv",
        lines("a;b", '"Do, 17.11.2022";Donnerstag, 17.11.2022', '"Fr., 18.11.2022";Freitag, 18.11.2022'),
        {name: [day(2022, 11, 17), day(2022, 11, 18)] for name in "ab"},
    ),
    "days of the week in French": Case(
        "a.csv",
        lines("a", "mardi 15 novembre 2022", "jeudi 17 novembre 2022", "mer. 16 nov. 2022"),
        {"a": [day(2022, 11, 15), day(2022, 11, 17), day(2022, 11, 16)]},
    ),
    "months in Spanish and March are no days of the week": Case(
        "a.csv",
        lines("a|b", "Dic 17, 2022|Mar 5, 2022", "Mar 18, 2022|Mai 3, 2022"),
        {"a": [day(2022, 12, 17), day(2022, 3, 18)], "b": [day(2022, 3, 5), day(2022, 5, 3)]},
    ),
    "times with Uhr": Case(
        "a.csv",
        lines("a,b", "17.11.2022 14:00 Uhr,1", "18.11.2022 9:30 Uhr,2"),
        {"a": [moment(2022, 11, 17, 14), moment(2022, 11, 18, 9, 30)]},
    ),
    "times of C": Case(
        "a.csv",
        lines("a,b", "Thu Nov 17 14:05:00 2022,1", "Mon Nov  7 04:05:10 2022,2"),
        {"a": [moment(2022, 11, 17, 14, 5), moment(2022, 11, 7, 4, 5, 10)]},
    ),
    "times of C in UTC": Case(
        "a.csv", lines("a,b", "Thu Nov 17 14:05:00 UTC 2022,1"), {"a": [utc(2022, 11, 17, 14, 5)]}
    ),
    "times of web servers": Case(
        "a.csv", lines("a,b", "17/Nov/2022:14:05:00 +0100,1"), {"a": [utc(2022, 11, 17, 13, 5)]}
    ),
    "Chinese and Japanese dates": Case(
        "a.csv",
        lines("a,b", "2022年11月17日,2022年11月", "2022年1月7日 14:05,2022年12月"),
        {
            "a": [moment(2022, 11, 17), moment(2022, 1, 7, 14, 5)],
            "b": [day(2022, 11, 1), day(2022, 12, 1)],
        },
    ),
    "dates with missing values": Case(
        "a.csv", lines("a,b", "17.5.2024,1", "-,2", "n/a,3"), {"a": [day(2024, 5, 17), None, None]}
    ),
    "dates of zero": Case(
        "a.csv",
        lines("a;b", "2024-05-17;17.05.2024", "0000-00-00;00.00.0000", "2024-05-18 ;1.6.2024"),
        {"a": [day(2024, 5, 17), None, day(2024, 5, 18)], "b": [day(2024, 5, 17), None, day(2024, 6, 1)]},
        says=("'0000-00-00' is read as missing in 'a' (1 row)", "'00.00.0000' is read as missing in 'b'"),
    ),
    "times of zero": Case(
        "a.csv",
        lines("a,b", "2024-05-17 10:00:00,1", "0000-00-00 00:00:00,2"),
        {"a": [moment(2024, 5, 17, 10), None]},
    ),
    "months, dated by their first day": Case(
        "a.csv",
        lines("a,b", "01/01/2023,1", "01/02/2023,2", "01/03/2023,3", "01/01/2024,4"),
        {"a": [day(2023, 1, 1), day(2023, 2, 1), day(2023, 3, 1), day(2024, 1, 1)]},
        says=("read as day/month/year;",),
    ),
    "months of Excel": Case(
        "a.csv",
        lines("a,b", "Jan-95,1", "Feb-95,2"),
        {"a": [day(1995, 1, 1), day(1995, 2, 1)]},
        says=("read as month/year", "1969 to 2068"),
    ),
    "months in numbers": Case(
        "a.csv",
        lines("a,b", "2024-05,05/2024", "2024-06,06/2024"),
        {"a": [day(2024, 5, 1), day(2024, 6, 1)], "b": [day(2024, 5, 1), day(2024, 6, 1)]},
    ),
    "a day that does not exist stays text": Case(
        "a.csv", lines("a,b", "31.2.2024,1", "1.3.2024,2"), {"a": ["31.2.2024", "1.3.2024"]}
    ),
    # --- names that begin as files of other formats
    **{
        f"a column called {name}": Case(
            "a.csv", lines(f"{name},b,c", "1,2,x", "3,4,y"), {name: [1, 3], "b": [2, 4]}, silent=True
        )
        for name in (
            *("PARENT", "PAR1", "ARROW1", "FEA1", "ORCID", "RDA", "RDX2", "GIF8", "GIF89a", "BZh", "BZh9"),
            *("Obj", "Rar!", "%PDF", "@relation"),
        )
    },
    "a column called DUCK": Case("a.csv", lines("animals,DUCK,b", "x,1,2"), {"DUCK": [1]}, silent=True),
    # --- layout
    "title and blank lines": Case(
        "a.csv",
        lines("Sales report 2024", "", "name,qty,price", "Ann,1,2.5", "Bob,2,3.5"),
        {"name": ["Ann", "Bob"], "price": [2.5, 3.5]},
        says=("1 line above the header left out: 'Sales report 2024'",),
    ),
    "title padded with separators": Case(
        "a.csv", lines("Sales report,,", ",,", "name,qty,price", "Ann,1,2.5"), {"name": ["Ann"], "qty": [1]}
    ),
    "titles of several cells, and years as names": Case(
        "a.csv",
        lines(",World Indicators,,", "Updated,7/8/16,,", ",,,", "country,code,unit,2015", "Peru,PER,m,1"),
        {"country": ["Peru"], "2015": [1]},
        says=("3 lines above the header left out",),
    ),
    "title above two columns": Case(
        "a.csv", lines("My list", "name,qty", "Ann,1", "Bob,2"), {"name": ["Ann", "Bob"], "qty": [1, 2]}
    ),
    "title with as many cells as columns": Case(
        "a.csv",
        lines("Report; generated 2024; by Ann", "", "a;b;c", "1;x;2,5", "2;y;3,5"),
        {"a": [1, 2], "b": ["x", "y"], "c": [2.5, 3.5]},
        says=("1 line above the header left out: 'Report  generated 2024  by Ann'",),
    ),
    "title with as many cells as columns, above separators": Case(
        "a.csv", lines("Report;2024;Ann", ";;", "a;b;c", "1;x;2", "2;y;3"), {"a": [1, 2], "c": [2, 3]}
    ),
    "a blank line below the header": Case(
        "a.csv", lines("name,qty", "", "Ann,n/a", "Bob,2"), {"name": ["Ann", "Bob"], "qty": [None, 2]}
    ),
    "a blank line between texts": Case(
        "a.csv",
        lines("name,hue", "", "Ann,red", "Bob,blue"),
        {"name": ["Ann", "Bob"], "hue": ["red", "blue"]},
    ),
    "a blank line below rows": Case(
        "a.csv", lines("a,b", "x,1", "y,2", "", "z,w", "u,3"), {"a": ["x", "y", "z", "u"]}
    ),
    "title with commas above two columns": Case(
        "a.csv",
        lines("Sales, all regions, 2024", "name,qty", "Ann,1", "Bob,2"),
        {"name": ["Ann", "Bob"], "qty": [1, 2]},
        says=("1 line above the header left out: 'Sales  all regions  2024'",),
    ),
    "trailing separator of the header above texts": Case(
        "a.csv", lines("a,b,", "x,y", "z,w"), {"a": ["x", "z"], "b": ["y", "w"]}
    ),
    "header of two rows": Case(
        "a.csv",
        lines(",2023,,2024,", "name,a,b,a,b", "Ann,1,2,3,4", "Bob,5,6,7,8"),
        {"name": ["Ann", "Bob"], "2023 a": [1, 5], "2023 b": [2, 6], "2024 a": [3, 7], "2024 b": [4, 8]},
        says=("The names of two rows are joined, such as '2023 a'.",),
    ),
    "header of two rows below a title": Case(
        "a.csv",
        lines("Sales of all regions", "", "Region,Men,,Women,", ",n,kg,n,kg", "x,1,2,3,4", "y,5,6,7,8"),
        {"Region": ["x", "y"], "Men n": [1, 5], "Women kg": [4, 8]},
    ),
    "header of two rows with years below": Case(
        "a.csv",
        lines("|Sales||Cost|", "name|2023|2024|2023|2024", "x|1|2|3|4", "y|5|6|7|8"),
        {"name": ["x", "y"], "Sales 2023": [1, 5], "Cost 2024": [4, 8]},
    ),
    "title above a column without name": Case(
        "a.csv", lines("My report,,", ",b,c", "x,1,2", "y,3,4"), {"column_1": ["x", "y"], "b": [1, 3]}
    ),
    "header of two rows that repeats the groups": Case(
        "a.csv",
        lines(",A,A,B", "k,n,m,n", "x,1,2,3", "y,4,5,6"),
        {"k": ["x", "y"], "A n": [1, 4], "B n": [3, 6]},
    ),
    "row of units below a column without name": Case(
        "a.csv",
        lines(",mass,weight", "nr,kg,kg", "1,2,3", "2,3,4"),
        {"column_1": [1, 2], "mass": [2, 3], "weight": [3, 4]},
    ),
    "comments above the header": Case(
        "a.csv",
        lines("# exported by probe 7", "# station: 12", "t,v,w", "1,2,3", "2,3,4"),
        {"t": [1, 2]},
        says=("2 lines above",),
    ),
    "row of units": Case(
        "a.csv",
        lines("name,mass,speed", ",(kg),m/s", "Ann,1,2", "Bob,3,4"),
        {"mass": [1, 3], "speed": [2, 4]},
        says=("holds units, '(kg), m/s'",),
    ),
    "rule below the header": Case("a.csv", lines("id|name", "---|------", "1|Ann", "2|Bob"), {"id": [1, 2]}),
    "total below the rows": Case(
        "a.csv",
        lines("name,qty", "Ann,1", "Bob,2", "Total,3"),
        {"name": ["Ann", "Bob"], "qty": [1, 2]},
        says=("The last line, 'Total,3', is not part of the table",),
    ),
    "source below the rows": Case(
        "a.csv",
        lines("name,qty,x", "Ann,1,2", "Bob,2,3", "", "Source: census 2020"),
        {"qty": [1, 2]},
        says=("census",),
    ),
    "a row with one value is a row": Case(
        "a.csv", lines("a,b,c", "x,1,2", "y,,"), {"a": ["x", "y"], "b": [1, None]}, silent=True
    ),
    "same name twice": Case(
        "a.csv",
        lines("a,b,a", "1,2,3"),
        {"a": [1], "b": [2], "a_2": [3]},
        says=("the later ones are called 'a_2'",),
    ),
    "columns without names": Case(
        "a.csv",
        lines(",a,", "0,1,2"),
        {"column_1": [0], "a": [1], "column_3": [2]},
        says=("called 'column_1', 'column_3'",),
    ),
    "names of rows by R": Case(
        "a.csv",
        lines('"a","b"', '"r1",1,2', '"r2",3,4', '"r3",5,6'),
        {"column_1": ["r1", "r2", "r3"], "a": [1, 3, 5]},
        says=("one field more",),
    ),
    "spaces around names and values": Case(
        "a.csv", lines(" a , b ", " 1 , x ", "2,y"), {"a": [1, 2], "b": ["x", "y"]}
    ),
    "no header": Case("a.csv", lines("5.1,3.5", "4.9,3.0"), error="holds only numbers"),
    "a line that is too long": Case(
        "a.csv", lines("a,b", "1,2", "1,2,3", "4,5"), error="line 3 has 3 fields"
    ),
    "rows without their last fields": Case(
        "a.csv",
        'a,b,c\n1,2,3\n4,5\n\n  \n"6\n7"\n8,9,10\n11,12',
        {"a": ["1", "4", "6\n7", "8", "11"], "b": [2, 5, None, 9, 12], "c": [3, None, None, 10, None]},
        says=("Line 3 has 2 of 3 fields, line 6 has 1, line 9 has 2; the others are read as missing.",),
    ),
    "rows without their last fields, with Windows line ends": Case(
        "a.csv", "a;b;c\r\n1;2;3\r\n4;5\r\n6;7;8\r\n", {"a": [1, 4, 6], "c": [3, None, 8]}
    ),
    "many rows without their last fields": Case(
        "a.csv",
        lines("a,b,c", *["1,2,3", "4,5"] * 7),
        {"a": [1, 4] * 7, "c": [3, None] * 7},
        says=("line 11 has 2 and 2 more lines; the others are read as missing.",),
    ),
    "no row has all fields": Case(
        "a.csv", lines("a,b,c", "1,2", "3,4"), error="2 lines have fewer fields than the header: line 2 has 2"
    ),
    "lines that are too long": Case(
        "a.csv",
        lines("a,b", "1,2", "1,2,3", "4,5", "1,2,3,4", "5,6", "7"),
        error="2 lines have more fields than the header: line 3 has 3 fields, line 5 has 4, but the header",
    ),
    "lines that are too long are left out": Case(
        "a.csv",
        lines("a,b", "1,2", "1,2,3", "4,5", "1,2,3,4", "5,6", "7"),
        {"a": [1, 4, 5, 7], "b": [2, 5, 6, None]},
        says=("2 lines are left out: line 3 has 3 fields, the header 2, line 5 has 4.", "Line 7 has 1 of 2"),
        options=ReadOptions(skip_bad_lines=True),
    ),
    # --- encodings
    "Russian": Case(
        "a.csv",
        lines("Имя,Город", "Иван,Москва", "Пётр,Казань").encode("cp1251"),
        {"Имя": ["Иван", "Пётр"]},
        says=("cp1251",),
    ),
    "Japanese": Case(
        "a.csv", lines("名前,都市", "太郎,東京", "花子,大阪").encode("shift_jis"), {"名前": ["太郎", "花子"]}
    ),
    "a stated encoding": Case(
        "a.csv",
        lines("a,b", "Řezníček,1").encode("cp1250"),
        {"a": ["Řezníček"]},
        options=ReadOptions(encoding="cp1250"),
        silent=True,
    ),
    "a stated encoding that is wrong": Case(
        "a.csv",
        lines("a,b", "Zoë,1").encode("cp1252"),
        error="line 2 is not utf-8.*--encoding",
        options=ReadOptions(encoding="utf-8"),
    ),
    # --- other formats
    "workbook": Case("a.xlsx", workbook({"cars": BOOK}), READ_BOOK, silent=True),
    "workbook with titles, total and n/a": Case(
        "a.xlsx",
        workbook({"cars": [["Cars"], [], ["hue", "n"], ["red", 1], ["blue", "n/a"], ["Total", 1]]}),
        {"hue": ["red", "blue"], "n": [1, None]},
        says=("'Cars'", "'Total 1'", "'n/a' is read as missing in 'n' (1 row)"),
    ),
    "workbook with a title as wide as the table, and a header of two rows": Case(
        "a.xlsx",
        workbook(
            {
                "a": [["Report", "of", "us"], [], ["Qty", "Hue", "Size"], [1, "x", 2], [3, "y", 4]],
                "b": [[None, 2023, None], ["n", "a", "b"], ["x", 1, 2], ["y", 3, 4]],
            }
        ),
        {"Qty": [1, 3], "Hue": ["x", "y"], "Size": [2, 4]},
    ),
    "sheet with a header of two rows": Case(
        "a.xlsx",
        workbook({"a": [["x"], [1]], "b": [[None, 2023, None], ["n", "a", "b"], ["x", 1, 2], ["y", 3, 4]]}),
        {"n": ["x", "y"], "2023 a": [1, 3], "2023 b": [2, 4]},
        path="a.xlsx::b",
    ),
    "first sheet of several": Case(
        "a.xlsx",
        workbook({"cars": BOOK, "more": [["x"], [1]]}),
        READ_BOOK,
        says=("The sheet 'cars' is read",),
    ),
    "named sheet": Case(
        "a.xlsx",
        workbook({"more": [["x"], [1]], "my cars": BOOK}),
        READ_BOOK,
        path="a.xlsx::my cars",
        silent=True,
    ),
    "no such sheet": Case(
        "a.xlsx", workbook({"cars": BOOK}), path="a.xlsx::cras", error="no sheet 'cras'; did you mean 'cars'"
    ),
    "one of several archived files": Case(
        "a.zip", zipped(a__csv="a\n1\n2\n", b__csv="b\n3\n"), {"b": [3]}, path="a.zip::b.csv"
    ),
    "archive with the hidden files of a Mac": Case(
        "a.zip", zipped(a__csv=lines(*NA_ROWS), __MACOSX="x"), {"a": [1, 2]}
    ),
    "JSON lines": Case(
        "a.jsonl",
        lines('{"a": 1, "b": "x"}', '{"a": null, "b": "17.5.2024"}'),
        {"a": [1, None], "b": ["x", "17.5.2024"]},
    ),
    "JSON lines of numbers and texts": Case(
        "a.jsonl",
        lines('{"a": 1, "b": "x"}', '{"a": "n/a", "b": 2}', '{"a": 2.5, "c": true}'),
        {"a": [1.0, None, 2.5], "b": ["x", "2", None], "c": [None, None, True]},
    ),
    "JSON array of objects": Case(
        "a.json",
        '[\n {"a": 1, "b": "17.5.2024"},\n {"a": null, "b": "18.5.2024"}\n]',
        {"a": [1, None], "b": [day(2024, 5, 17), day(2024, 5, 18)]},
    ),
    "JSON lines of another suffix": Case(
        "a.ndjson", lines('{"a": "1,5"}', '{"a": "2,5"}'), {"a": [1.5, 2.5]}
    ),
    "SQLite": Case(
        "a.db",
        sqlite({"cars": ("age integer, hue text", [(1, "red"), (None, "blue")])}),
        {"age": [1, None], "hue": ["red", "blue"]},
    ),
    "table of SQLite": Case(
        "a.db",
        sqlite({"x": ("a", [(1,)]), "my cars": ("age, hue", [(1, "red"), ("n/a", "blue")])}),
        {"age": [1, None]},
        path="a.db::my cars",
    ),
    "SQLite of several tables": Case(
        "a.db",
        sqlite({"x": ("a", [(1,)]), "y": ("a", [(1,)])}),
        error="a database of 2 tables .'x', 'y'.; name one: FILE::x",
    ),
    "DuckDB": Case(
        "a.duckdb",
        duck,
        {"age": [1, None], "born": [day(2024, 5, 17), None], "hue": ["red", "blue"]},
        path="a.duckdb::cars",
    ),
    "times of day of DuckDB": Case("a.duckdb", duck_times, {"start": [dt.time(14, 5), None]}),
    "no such table": Case(
        "a.duckdb", duck, path="a.duckdb::card", error="no table 'card'; did you mean 'cars'"
    ),
    "no table inside": Case(
        "a.csv", lines(*NA_ROWS), path="a.csv::x", error="it holds one table only; leave out ::x"
    ),
}
