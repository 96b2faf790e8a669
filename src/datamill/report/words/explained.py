"""Words that pages explain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its meaning; `key` names its place on the page, `pattern` finds it in small letters."""

    key: str
    title: str
    meaning: str
    pattern: str


def choose_words(texts: Sequence[str]) -> tuple[Word, ...]:
    """The words that stand in one of the texts."""
    text = "\n".join(texts).lower()
    return tuple(word for word in WORDS if re.search(word.pattern, text))


WORDS = (
    Word(
        "trial",
        "trial",
        "One planned execution of a program under known conditions. n is the number of trials behind "
        "a figure, or of builds where each was executed several times.",
        r"\btrials?\b|\bn\b",
    ),
    Word(
        "factor",
        "factor, level",
        "A factor is a condition that may change the result, such as the compiler's optimisation. A "
        "level is one setting of it, such as -O2.",
        r"(?<!impact )\bfactors?\b|\blevels?\b",
    ),
    Word(
        "response",
        "response",
        "What is measured, such as the time that a program takes.",
        r"\bresponses?\b",
    ),
    Word(
        "mean",
        "mean",
        "The sum divided by the number. A few very large values pull it up.",
        r"\bmeans?\b",
    ),
    Word(
        "median",
        "median, quartile, quantile",
        "Order all values by size. The median is the one in the middle; a quarter lies below the "
        "lower quartile, a quarter above the upper one. The 0.99 quantile has 99% of the values below"
        " it: only one in a hundred is larger.",
        r"\bmedian|quartile|\bquantile",
    ),
    Word(
        "interval",
        "interval",
        "An estimate is never exact. The interval says how far off it may be: if the whole experiment"
        " were repeated many times, 95% of the 95% intervals would contain the true value.",
        r"\binterval",
    ),
    Word(
        "sequential",
        "sequential interval, round",
        "A sequential experiment is looked at again and again, and stops when it knows enough. Its "
        "intervals are wider, so that they hold all the same. They are made from rounds: in each, every "
        "combination of levels was measured once more.",
        r"sequential interval|\brounds?\b",
    ),
    Word(
        "effect",
        "effect",
        "How much a response changes when a factor goes from one level to another. Sentences tell the"
        " whole change. Tables, equations and figures of models count from the middle: of two levels "
        "half the change from the low to the high one, of more each level's distance from the mean of"
        " the levels.",
        r"\beffect",
    ),
    Word(
        "interaction",
        "interaction (a × b)",
        "The effect of one factor depends on the level of another: optimisation may help one program "
        "and not the other.",
        # The sizes of a nested sample, l × m × n, are no interaction.
        r"interaction|(?<!\bl × )\b(?!l × m × n)[^\W\d]\w* × [^\W\d]",
    ),
    Word(
        "p",
        "p, alpha",
        "p says how often chance alone would give a difference as large as the one seen. Below a "
        "limit that was fixed beforehand (alpha), the difference counts as detected. A larger p does "
        "not show that there is none.",
        r"\bp\b|alpha",
    ),
    Word(
        "anova",
        "analysis of variance",
        "It splits all differences between trials into parts: one for each factor, and an error, "
        "which no factor explains.",
        r"analysis of variance",
    ),
    Word(
        "model",
        "linear model",
        "The response is taken as a mean plus an effect of each factor plus chance. It describes "
        "means, and takes chance to be alike everywhere and shaped like a bell.",
        r"linear model",
    ),
    Word(
        "residual",
        "residual",
        "What was measured minus what the model says: the part that is left to chance.",
        r"residual",
    ),
    Word(
        "nested",
        "build, execution, measurement",
        "Three nested levels of repetition: a program is built several times, each build is executed several "
        "times, each execution measures several times. Builds of the same sources differ, since chance takes "
        "part in where the compiler and linker put things; so only builds count as independent.",
        r"\bbuilds\b|\bexecutions\b",
    ),
    Word(
        "half-width",
        "half-width",
        "Half of the length of a confidence interval: the number behind ±.",
        r"half-width",
    ),
    Word(
        "false-alarm",
        "false alarm",
        "A difference that is seen though none exists: here between two groups of builds of one version.",
        r"false alarm",
    ),
    Word(
        "paper",
        "equation 17, the paper's rule",
        "The interval and the comparison of EPEW 2006, shown beside ours: an interval that holds for many "
        "builds, and two versions that count as changed where theirs do not overlap.",
        r"equation 17|paper's rule",
    ),
    Word(
        "impact",
        "impact factor",
        "How much more execution means differ from build to build than within one build: 1 says that it does "
        "not matter which build is measured, 2 that they differ twice as much.",
        r"impact factor",
    ),
    Word(
        "power",
        "power",
        "How surely an experiment sees a difference of the size that was asked about, if there is one: with "
        "90% it misses it once in ten times.",
        r"\bpower\b",
    ),
    Word(
        "drift",
        "drift",
        "The same work takes another time later in the experiment: because the machine warmed up, "
        "something else ran, or for an hour it was in a lucky state. Trials that are alike but for "
        "when they ran show it.",
        r"\bdrift",
    ),
    Word(
        "screening",
        "screening",
        "A first, small experiment over many factors at once, each at two levels: it finds the few that move "
        "the response, for which a thorough experiment is then worth its time.",
        r"\bscreen(ing|ed)\b",
    ),
    Word(
        "alias",
        "aliased, resolution",
        "Where few combinations of levels are measured, some effects cannot be told apart: whenever the one "
        "acts, the other seems to as well. Resolution III tells the effects of factors from each other, IV "
        "also from interactions of two factors, V also such interactions from each other.",
        r"\balias|\bresolution\b",
    ),
    Word(
        "intercept",
        "intercept",
        "The level about which effects act: what the model says before any factor adds its part.",
        r"intercept|\(mean\)|\(overall\)",
    ),
    Word(
        "quantile-regression",
        "quantile regression",
        "It asks what a factor does to the median, or to the slowest one in a hundred, rather than to"
        " the mean. It takes nothing for granted about the shape of chance.",
        r"quantile regression",
    ),
    Word(
        "ecdf",
        "distribution curve (ECDF)",
        "It climbs from 0 to 1: its height at a value is the share of trials with that value or less."
        " The further left, the smaller the values; the steeper, the more alike they are.",
        r"distribution function|ecdf",
    ),
    Word(
        "adjusted",
        "adjusted for the number of comparisons",
        "Who looks at many differences finds some by chance. Adjusted figures (Holm, Bonferroni, "
        "Tukey) allow for how many were looked at.",
        r"adjusted|holm|bonferroni|tukey",
    ),
    Word(
        "standard-error",
        "standard error",
        "How far an estimate typically lies from the true value, by chance alone. An interval is some"
        " two standard errors to either side.",
        r"standard error|std\. error",
    ),
    Word(
        "squares",
        "sum of squares, mean square, F",
        "How far values lie from their mean, squared and added up, so that it can be split between factors "
        "and chance. Over its degrees of freedom it is a mean square; a factor's mean square over that of "
        "chance is F, about 1 where the factor does nothing.",
        r"sums? of squares|mean squares?\b|\bsum sq\.|mean sq\.",
    ),
    Word(
        "df",
        "degrees of freedom (df)",
        "On how many independent pieces of information a figure rests: the fewer, the wider the interval.",
        r"\bdf\b|degrees of freedom",
    ),
    Word(
        "r-squared",
        "R²",
        "The share of all differences between observations that the model accounts for, from 0 to 1.",
        r"\br(\^2|²)",
    ),
    Word(
        "bootstrap",
        "bootstrap",
        "The data are drawn from themselves again and again; how much the result moves shows how uncertain "
        "it is.",
        r"bootstrap",
    ),
    Word(
        "shift",
        "Hodges-Lehmann shift",
        "The median of all differences between an observation of one group and one of the other: by "
        "how much one group lies above the other. Extremes hardly move it.",
        r"hodges",
    ),
    Word(
        "strata",
        "strata",
        "Combinations of the levels of the other factors. Groups are compared within each of them "
        "only, so that like is compared with like.",
        r"\bstrat(um|a)\b|stratified",
    ),
    Word(
        "cook",
        "Cook's distance",
        "How far all estimates would move if one observation were left out. Near 1 or above, that "
        "observation decides by itself.",
        r"cook's",
    ),
    Word(
        "deviation",
        "standard deviation",
        "The typical distance of observations from their mean.",
        r"standard deviation",
    ),
    Word(
        "cv",
        "coefficient of variation (CV)",
        "The standard deviation divided by the mean: 5% says that observations typically lie 5% from "
        "their mean.",
        r"coefficients? of variation|\bcv\b",
    ),
    Word(
        "skewness",
        "skewness (G1)",
        "0 where both sides of a distribution are alike; above 0 where there are large values far "
        "from the rest, as with slow trials; below 0 where there are small ones.",
        r"skewness|\bg1\b",
    ),
    Word(
        "qcd",
        "QCD, MAD/median, Q.skew",
        "Spread and skewness taken from the middle of the data, which extremes do not move: quartile "
        "coefficient of dispersion, (Q3 − Q1) / (Q3 + Q1); median distance from the median over the "
        "median; and how much further one quartile lies from the median than the other, from −1 to 1.",
        r"\bqcd\b|mad/median|q\.skew",
    ),
)
