from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow import AdaBoostClassifier, AnyBoostClassifier, LogitBoostClassifier

@parametrize_with_checks([
    *(AdaBoostClassifier(algorithm=a) for a in ("discrete", "m1", "samme", "real", "samme.r", "gentle")),
    AdaBoostClassifier(resample=True), AdaBoostClassifier(on_chance="restart"),
    LogitBoostClassifier(), AnyBoostClassifier(), AnyBoostClassifier(cost="logistic"), AnyBoostClassifier(cost="sigmoid"),
    *(AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), algorithm=a) for a in ("discrete", "m1", "samme", "real", "samme.r")),
    AdaBoostClassifier(DecisionTreeRegressor(max_depth=1), algorithm="gentle"),
    LogitBoostClassifier(DecisionTreeRegressor(max_depth=1)),
    AnyBoostClassifier(DecisionTreeClassifier(max_depth=1)),
])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)
