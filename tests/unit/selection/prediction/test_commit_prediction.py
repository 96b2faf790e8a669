from __future__ import annotations

import msgspec
import pytest
from made.selection.selection_records import make_case, make_function, make_profile, make_table

from datamill.experiment.errors import InputError
from datamill.selection.history.records import Version
from datamill.selection.history.settings import TruthSetting
from datamill.selection.prediction.commit_prediction import predict_commit
from datamill.selection.prediction.direction import LearnedDirection, learn_direction
from datamill.selection.prediction.magnitude import Magnitude
from datamill.selection.prediction.search import SuspectVersion, choose_split, narrow, share_probability
from datamill.selection.prediction.trained_model import TrainedModel, decode_model
from datamill.selection.predictors.case import Case
from datamill.selection.predictors.perphecy import fit_perphecy
from datamill.selection.predictors.registry import PREDICTORS, choose_fit

OLD = make_table(make_function("hot"), make_function("cold"))
NEW = make_table(make_function("hot", "edited", 12), make_function("cold"))
HISTORY = [
    make_case(1, True, top_by_calls=100.0),
    make_case(2, False, top_by_calls=0.0),
    make_case(3, True, top_by_calls=90.0),
    make_case(4, False, top_by_calls=20.0),
]


def train(name="perphecy", cases=HISTORY):
    predictor = next(item for item in PREDICTORS if item.name == name)
    model = choose_fit(predictor, 19.0, None)(cases)
    direction = LearnedDirection(0, 0, False)
    return TrainedModel(name, model, fit_perphecy(cases), direction, TruthSetting(), 4, 2, model.warnings)


def predict(trained, new=NEW, profiles=None, program="new"):
    return predict_commit(
        trained,
        Version("a", 0, "built", program="old"),
        Version("b", 1, "built", program=program, hops=1),
        (OLD, new),
        {"bench": make_profile(hot=(9, 900))} if profiles is None else profiles,
        ["bench"],
        {},
    )


def test_a_change_of_the_hottest_function_runs_with_the_function_behind_it():
    (found,) = predict(train()).predictions
    assert found.run
    (fired,) = [item for item in found.indicators if item.name == "top_by_calls"]
    assert (fired.value, fired.threshold, fired.functions) == (100.0, 90.0, ("hot",))


def test_an_indicator_of_0_speaks_for_nothing_though_its_threshold_is_0():
    always = [make_case(order, True, top_by_calls=0.0, new_functions=0.0) for order in (1, 2)]
    (found,) = predict(train(cases=always)).predictions
    assert found.run
    fired = {item.name: (item.value, item.functions) for item in found.indicators}
    assert fired["top_by_calls"] == (100.0, ("hot",))
    assert all(value > 0 for value, _ in fired.values())


def test_the_same_program_skips_everything_whatever_is_predicted():
    (found,) = predict(train("always"), program="old").predictions
    assert not found.run
    assert found.probability == 0.0


def test_programs_that_differ_in_what_is_not_executed_skip_every_benchmark():
    exports = make_table(make_function("hot"), make_function("cold"), content="another symbol is exported")
    (found,) = predict(train("logistic"), exports).predictions
    assert (found.run, found.probability) == (False, 0.0)
    assert found.reason == "no function, data or option differs"
    # Without symbols a change may be there that nothing shows.
    nameless = msgspec.structs.replace(exports, lost=("no symbol table",))
    assert predict(train("logistic"), nameless).predictions[0].run


def test_a_benchmark_without_a_profile_runs_and_says_why():
    (found,) = predict(train("never"), profiles={}).predictions
    assert found.run
    assert found.probability is None
    assert "no profile" in found.reason


def test_a_benchmark_that_runs_without_a_profile_has_the_size_of_all_others():
    size = Magnitude(0.004, 0.001, 0.2, 0.9, 12)
    trained = msgspec.structs.replace(train("always"), magnitude=size)
    assert [predict(trained, profiles=profiles).predictions[0].magnitude for profiles in (None, {})] == [
        size
    ] * 2


@pytest.mark.parametrize("name", ["logistic", "boosting", "forest-100", "svm-rbf"])
def test_a_history_without_a_change_runs_what_the_benchmark_reaches_and_nothing_else(name):
    quiet = [make_case(order, False, top_by_calls=10.0) for order in range(1, 9)]
    trained = train(name, quiet)
    assert any("no change to learn from" in line for line in trained.warnings)
    assert predict(trained).predictions[0].run
    elsewhere = make_table(make_function("hot"), make_function("cold", "edited"))
    assert not predict(trained, elsewhere).predictions[0].run
    # As published: it skips everything.
    assert not predict(train("perphecy", quiet)).predictions[0].run


@pytest.mark.parametrize("predictor", [item.name for item in PREDICTORS])
def test_a_model_that_was_written_decides_as_before(predictor):
    cases = [
        make_case(order, order % 3 == 0, heat=float(order % 3 == 0) + order / 50) for order in range(1, 31)
    ]
    trained = train(predictor, cases)
    again = decode_model(msgspec.json.encode(trained), "model.json")
    for case in cases:
        assert again.model.score(case) == trained.model.score(case)
        assert again.model.decides(case) == trained.model.decides(case)


@pytest.mark.parametrize("text", [b"{}", b"[]", b"\xff", b'{"schema": 2}', b'{"schema": "2"}'])
def test_a_damaged_model_is_refused(text):
    with pytest.raises(InputError, match=r"model\.json: is not a predictor"):
        decode_model(text, "model.json")


@pytest.mark.parametrize("damage", [{}, {"direction": {"feature": "own.signed_edit", "holds": True}}])
def test_a_model_of_another_version_is_named_whatever_else_it_holds(damage):
    kept = {**msgspec.to_builtins(train()), **damage, "schema": 1}
    with pytest.raises(InputError, match=r"model\.json: is of version 1") as refused:
        decode_model(msgspec.json.encode(kept), "model.json")
    assert "Train anew" in str(refused.value.remedy)


def test_a_direction_is_told_only_where_versions_without_a_mistake_promise_an_error_below_a_tenth():
    def change(order, edit, ratio):
        return Case("b", "o", "n", order - 1, order, {}, {"own.signed_edit": edit}, True, ratio)

    right = [change(order, 0.1 if order % 2 else -0.1, 1.2 if order % 2 else 0.9) for order in range(1, 30)]
    told = learn_direction(right)
    assert (told.n, told.right, told.holds) == (29, 29, True)
    assert told.tell({"own.signed_edit": 0.2}) == "slower"
    assert told.tell({"own.signed_edit": -0.2}) == "faster"
    assert told.tell({}) == "unknown"
    assert not learn_direction(right[1:]).holds
    assert not learn_direction([*right, change(30, 0.1, 0.9)]).holds
    # Many benchmarks of few versions are no more than these; one that is wrong makes its version wrong.
    few = learn_direction([change(order, 0.1, 1.2) for order in (1, 2) for _ in range(50)])
    assert (few.n, few.right, few.holds) == (2, 2, False)
    mixed = learn_direction([change(1, 0.1, 1.2), change(1, 0.1, 0.9)])
    assert (mixed.n, mixed.right) == (1, 0)


def test_a_search_measures_where_most_is_ruled_out_and_never_an_equal_program():
    shares = share_probability([0.5, 0.9, 0.0, 0.2], [False, False, True, False])
    assert shares[2] == 0.0
    assert sum(shares) == pytest.approx(1.0)
    assert shares[1] == max(shares)
    cheap = [SuspectVersion(str(place), "", "", 0.5, 0.25, 1.0) for place in range(4)]
    assert choose_split(cheap) == 1
    dear = [*cheap[:1], SuspectVersion("1", "", "", 0.5, 0.25, 10.0), *cheap[2:]]
    assert choose_split(dear) == 0
    assert [item.commit for item in narrow(cheap, 1, has_change=True)] == ["0", "1"]
    assert [item.commit for item in narrow(cheap, 1, has_change=False)] == ["2", "3"]
    assert sum(item.probability for item in narrow(cheap, 0, has_change=False)) == pytest.approx(1.0)
