"""Which direction is better: of a statistic in the registry, and of a metric that is known by its name."""

from __future__ import annotations

import re

from .measured import statistic_of
from .paired import Paired, StatisticSpec, kind_of
from .statistic import Kind

# The words that names of metrics are made of, as data; `direction.py` reads names by them


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOWER = _words(
    """
    bpb bpc brier cer cost costs crossentropy der duration ece edits eer elapsed err error errorrate errors failed
    failures fid hter incorrect latencies latency logloss loss losses lpips mae mape mase mce medae mer metricx
    mistakes mse msle nll perplexities perplexity ppl price rmse rmsle runtime smape ter time times tpot ttft wer
    wil wmape wrong
    """
)
HIGHER = _words(
    """
    acc accuracies accuracy anls ap auc aucpr aucroc auprc auroc bertscore bleu bleurt bpref chrf cider codebleu
    comet correct correctness dcg dice em exactmatch fbeta fmeasure fscore gleu hitrate iou jaccard kappa kendall
    las lcc lemma map match matches matthews mauve mcc meteor miou mrr ndcg pass passed passes passrate pearson
    pearsonr pesq precision psnr qwk r2 recall resolved rouge rougel rougelsum rprec sacrebleu sari solved spearman
    spearmanr specificity spice ssim stoi succeeded success successes tau throughput uas upos win winrate wins
    xcomet xpos
    """
)
# Better when higher beside words of COUNTING alone: prompt_sensitivity and length correlation are something else.
CAUTIOUS = _words("corr corrcoef correlation sensitivity")
# Of time less is better; beside a metric of that kind they are its unit.
TIME_UNITS = _words(
    """
    hour hours microseconds millis milliseconds minute minutes ms msec nanoseconds ns sec second seconds secs us
    usec
    """
)
# How values are counted, averaged and scaled: this changes neither what a metric is nor which of its values is better.
COUNTING = _words(
    """
    absolute adjusted aggregate aggregated all at average averaged avg balanced best beta binary coef coeff
    coefficient cohen count counts cum cumulative curve cut cutoff exact expected extractive filtered final flexible
    fraction fractions full functional geometric global harmonic in info is k l lenient level local log logarithmic
    loose macro max maximum mean means measure median metric metrics micro min minimum multiclass multilabel mutual
    n none norm normalised normalized num number of official overall ovo ovr p partial pct percent percentage pooled
    pr proportion quadratic r rate rates ratio raw relative relaxed rho roc root score scores share soft squared
    strict sum summary symmetric the top total uniform unigram value values weighted zeroshot
    """
)
# What is measured: parts of data and of models. A path may begin with some of them (eval/loss).
PARTS = _words("data dev eval evaluation test tests train training val valid validation")
SCOPES = PARTS | _words(
    """
    answer answers api assertion assertions base baseline byte calibration call candidate case cases char character
    characters chars class classes classification code completion context corpus cpu dataset doc docs document
    documents entity example examples execution extract extraction field generation gpu gram grams h hamming hasans
    hinge huber inference inst instance instances instruction instructions item items label labels line linear list
    math model morph new noans node old output pair pairs paragraph phone phoneme pinball pixel pred predicted
    prediction predictions prefix problem problems prompt prompts qa quantile quasi query question questions ranked
    ranking reasoning record reg regression request requests response responses result results retrieval run s
    sample samples segment segments sentence sentences sequence set shot shots span spans split string subtask
    system tag tags task tasks text texts token tokens tool topic translation tree u unit utterance utterances v
    verified verify w wall word words zh
    """
)
DATA_SETS = _words(
    """
    aime arc asdiv bbh boolq cnn coco commonsenseqa copa flores gpqa gsm hellaswag hotpotqa humaneval ifeval lambada
    librispeech livecodebench mbpp mmlu mmmu mnli msmarco musr nq openbookqa piqa qnli qqp rte samsum sciq siqa
    squad sst svamp swebench triviaqa truthfulqa winogrande wmt wnli xnli xquad xsum
    """
)
CURRENCIES = _words("cent cents dollar dollars eur euro euros gbp usd")
# Names of several words, where # is a number: whether more is better.
PHRASES = {
    False: """
        bits per byte, bits per char, bits per character, bits per token, bits per word, cross entropy, edit distance, hamming
        distance, levenshtein distance, match error rate, neg log likelihood, neg loglikelihood, negative log likelihood, time
        per output token, time to first token, word info lost, word information lost, zero one loss
    """,
    True: """
        bert score, exact match, explained variance, f #, f beta, f measure, f score, hit #, hit at #, hit rate, hits #, hits at
        #, jaccard index, log likelihood, loglikelihood, maj #, maj at #, mc #, p #, p at #, p at k, peak signal noise ratio, peak signal to
        noise ratio, r at #, r at k, rr at #, r precision, r squared, rank correlation, recip rank, reciprocal rank, set f, set p,
        structural similarity, word info preserved, word information preserved
    """,
}


# 1-wer, 100 - error rate, 1/ppl, -loss, exp(-nll); 1-shot and 1-gram are no sums.
NEGATED = re.compile(
    r"(?:^|[\s_(,*])(?:1|100)(?:\.0+)?\s*[-\u2212\u2013/](?!\s*(?:shot|gram|best|hop|way|nn)\b)"
    r"|(?:^|[\s_(,*])[-\u2212\u2013](?=\w)"
    r"|^\s*[-\u2212\u2013]",
    re.IGNORECASE,
)
# What a score is called when its meaning is not given.
GENERIC = frozenset(("score", "scores", "value", "values", "u", "v"))
PIECE = re.compile(r"r2(?!\d)|[^\W\d_]+|\d+(?:\.\d+)?|[/@]", re.IGNORECASE)
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
PERCENTILE = re.compile(r"(?<![^\W_])p\d+(?:\.\d+)?(?![^\W_])", re.IGNORECASE)
NUMBER, PER = "#", "/"
# A path to a metric begins with these (eval/loss); after any other word a stroke means "per" (tokens/second).
FOLDERS = (
    PARTS
    | DATA_SETS
    | {"all", "final", "metric", "metrics", "overall", "result", "results", "score", "scores"}
)
_KNOWN = frozenset({NUMBER, PER}).union(
    LOWER, HIGHER, CAUTIOUS, TIME_UNITS, COUNTING, SCOPES, DATA_SETS, CURRENCIES
)
_PHRASES: dict[str, list[tuple[list[str], bool]]] = {}
for _higher, _listed in PHRASES.items():
    for _phrase in sorted((text.split() for text in _listed.split(",")), key=len, reverse=True):
        _PHRASES.setdefault(_phrase[0], []).append((_phrase, _higher))


def negated(name: str) -> bool:
    """Whether a name is written as a difference, a quotient or a negative, which reverses its metric."""
    return NEGATED.search(name) is not None


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, `#` for each number and `/` where there is one.

    >>> words_of("chrF2++"), words_of("wordErrorRate"), words_of("p95-latency")
    (['chrf', '#'], ['word', 'error', 'rate'], ['latency'])
    """
    words: list[str] = []
    for piece in PIECE.findall(PERCENTILE.sub(" ", name)):
        folded = "at" if piece == "@" else piece.lower()
        if folded[0].isdigit():
            words.append(NUMBER)
        elif folded in _KNOWN:
            words.append(folded)
        else:
            words += [part.lower() for part in CAMEL.findall(piece)]
    return words


def says_nothing(name: str) -> bool:
    """Whether a name consists of words that stand beside metrics alone: `total`, `n_samples`."""
    words = set(words_of(name))
    return bool(words - {NUMBER}) and words <= _KNOWN and not words & (LOWER | HIGHER | CAUTIOUS)


def of_name(name: str) -> bool | None:
    """Whether more of the metric of this name is better; None where the name does not tell.

    It tells only if every word is known, and all its metrics agree.

    >>> of_name("word_perplexity"), of_name("acc_norm"), of_name("rougeL"), of_name("attack_success_rate")
    (False, True, True, None)
    >>> of_name("1-wer"), of_name("accuracy_gap"), of_name("1-shot acc"), of_name("rouge-1")
    (None, None, True, True)
    """
    if negated(name):
        return None
    words, found = words_of(name), set[bool]()
    rest: list[str] = []
    at = 0
    while at < len(words):
        entries = _PHRASES.get(words[at], ())
        phrase, higher = next(
            (entry for entry in entries if words[at : at + len(entry[0])] == entry[0]), ((), False)
        )
        if phrase:
            found.add(higher)
        elif words[at] in LOWER or words[at] in HIGHER:
            found.add(words[at] in HIGHER)
        elif words[at] == PER and not found and not TIME_UNITS & set(rest) and not FOLDERS.issuperset(rest):
            return None
        else:
            rest.append(words[at])
        at += max(1, len(phrase))
    left = set(rest)
    if left & CAUTIOUS:
        if not left <= CAUTIOUS | COUNTING:
            return None
        found.add(True)
    if left & TIME_UNITS:
        found.add(False)
    return found.pop() if len(found) == 1 and left <= _KNOWN else None


def of_test(data: Paired, spec: StatisticSpec, metric: str | None) -> bool | None:
    """Whether a larger statistic is better for the system that has it; None where nothing tells.

    `metric` is what the items' scores measure, where that is known. The direction of a ratio follows from the name of its numerator.
    """
    return of_kind(kind_of(data), spec, metric)


def of_kind(kind: Kind, spec: StatisticSpec, metric: str | None) -> bool | None:
    """The same of any data of a kind."""
    if kind == "scores":
        return None if metric is None else of_name(metric)
    entry = statistic_of(kind, spec.name)
    if entry is not None and entry.higher_is_better is not None:
        return entry.higher_is_better
    if metric is not None and of_name(metric) is not None:
        return of_name(metric)
    if spec.name != "ratio":
        return None
    above, below = (of_name(str(spec.parameters.get(part, ""))) for part in ("numerator", "denominator"))
    return above if below is None else None
