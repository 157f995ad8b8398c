"""Labels are doubtful relative to the frequency of their class."""

import numpy as np
from sklearn.datasets import load_iris

from hedgerow import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from hedgerow.report import ReportData, sections_rows
from hedgerow.report.sections_rows import doubtful_labels


def rare_rows(n_rows=3000, seed=0):
    """Rows of a class of 5 %, whose probability depends little on the columns; and true probabilities."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    p = 1 / (1 + np.exp(3.2 - 0.6 * X[:, 0]))
    return X, (random.random(n_rows) < p).astype(int), np.column_stack([1 - p, p])


def test_rows_of_a_rare_class_are_not_doubtful_because_it_is_rare():
    _, y, probabilities = rare_rows()
    assert np.mean(y) < 0.1
    assert np.all(probabilities[y == 1].argmax(axis=1) == 0)  # all of them are predicted as the other class
    assert len(doubtful_labels(probabilities, y)[0]) == 0


def test_labels_that_are_the_more_probable_class_are_not_doubtful():
    y = (np.arange(1000) % 50 == 0).astype(int)
    p = np.where(y == 1, 0.2, 0.01)
    p[3] = 0.45  # a ratio of 40
    assert len(doubtful_labels(np.column_stack([1 - p, p]), y)[0]) == 0
    p[3] = 0.55
    assert doubtful_labels(np.column_stack([1 - p, p]), y)[0].tolist() == [3]


def test_wrong_labels_of_a_rare_and_a_frequent_class_are_doubtful():
    random = np.random.default_rng(1)
    y = (np.arange(2000) % 20 == 0).astype(int)
    p = np.clip(np.where(y == 1, 0.6, 0.03) + 0.02 * random.normal(size=2000), 0.001, 1)
    p[[7, 40]] = 0.7, 0.001  # a label 0 that looks like 1, and a label 1 that looks like 0
    rows, classes, ratios = doubtful_labels(np.column_stack([1 - p, p]), y)
    assert set(rows.tolist()) == {7, 40}
    assert dict(zip(rows.tolist(), classes.tolist(), strict=True)) == {7: 1, 40: 0}
    expected = {7: 0.7 / 0.3 * 19, 40: 0.999 / 0.001 / 19}
    np.testing.assert_allclose(ratios, [expected[row] for row in rows.tolist()])
    assert np.all(np.diff(ratios) <= 0)


def test_probability_must_be_at_least_the_mean_of_the_class():
    y = np.repeat([0, 1], 50)
    p = np.where(y == 1, 0.999, 0.001)
    p[3] = 0.97  # a ratio of 32, and less than usual for class 1
    assert len(doubtful_labels(np.column_stack([1 - p, p]), y)[0]) == 0
    p[3] = 0.9995
    assert doubtful_labels(np.column_stack([1 - p, p]), y)[0].tolist() == [3]


def test_classes_without_rows_are_not_suggested():
    probabilities = np.array([[0.1, 0.0, 0.9], [0.9, 0.1, 0.0], [0.1, 0.9, 0.0]])
    rows, classes, _ = doubtful_labels(np.tile(probabilities, (5, 1)), np.array([0, 0, 1] * 5))
    assert 2 not in classes.tolist()
    assert len(rows) == 0


def test_weights_are_relative_to_the_class():
    X, y, _ = rare_rows(1500)
    model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    weights = model.outlier_scores(X, y)
    assert set(y[np.argsort(-weights)[:10]].tolist()) == {1}  # as all rows of the rare class
    html = sections_rows.hardest(ReportData(model, X[:300], y[:300], X_train=X, y_train=y)).body
    start = html.find("Training rows with the largest weights in their class")
    listed = 0 if start < 0 else html[start:].count("<td>1</td>")
    assert listed < 5


def test_wrong_labels_of_the_test_and_training_set_are_listed_with_the_likelier_class():
    X, y = load_iris(return_X_y=True)
    wrong = np.array([10, 118])
    labels = y.copy()
    labels[wrong] = 2, 0
    model = GradientBoostingClassifier(n_estimators=60, random_state=0).fit(X, y)
    html = sections_rows.hardest(ReportData(model, X, labels)).body
    table = html[html.index("Test rows that are much likelier in another class") :]
    for row in wrong.tolist():
        assert f'<th scope="row" class="number">{row}</th><td>{labels[row]}</td><td>{y[row]}</td>' in table
    forest = RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, labels)
    html = sections_rows.hardest(ReportData(forest, X[:9], y[:9], X_train=X, y_train=labels)).body
    table = html[html.index("Training rows that are much likelier in another class") :]
    assert all(f'<th scope="row" class="number">{row}</th>' in table for row in wrong.tolist())
    assert "Test set: no label is doubtful" in html
