"""The words that names of metrics are made of, as data; `direction.py` reads names by them.

A word that is in none of these lists makes a name unknown, so that no list of words that turn a metric has to be complete.
"""

from __future__ import annotations


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
