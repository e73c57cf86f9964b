"""Explanations of cards: contents, reading, limits and source.

`EXPLANATIONS` is one table by the CSS class of the card; `GLOSSARY` defines each word
once. Texts are our own and plain; `kit` turns them into markup.
"""

from __future__ import annotations

from dataclasses import dataclass

_CONSENSUS = "Ohl & Lindsten, Discriminative ordering through ensemble consensus"
_CNS = "Hofmeyr, Clustering by Non-parametric Smoothing, arXiv 2503.09134"
_FUZZY = (
    "DeWolfe & Andrews, Adv. Data Anal. Classif. 2025, doi:10.1007/s11634-025-00625-w"
)
_LABELS = (
    "Jeon et al., Measuring the Validity of Clustering Validation Datasets, IEEE TPAMI "
    "47(6), 2025 (CH_btwn)"
)
_MONTI = "Monti et al., Machine Learning 52, 2003, doi:10.1023/A:1023949509487"


@dataclass(frozen=True)
class Explanation:
    """Four short plain texts about a card; the source may be empty."""

    shows: str
    reading: str
    limits: str
    source: str = ""


EXPLANATIONS = {
    "cl-load": Explanation(
        "Ways to bring a table in: a file, a pasted table, an example.",
        "Rows are samples, columns are features. A file is what its content says it "
        "is, whatever its name.",
        "Nothing leaves the machine the server runs on, and the file itself is not "
        "changed.",
    ),
    "cl-recent-card": Explanation(
        "Analyses that are kept on the disk of the server.",
        "A click opens one where it was left, with its steps and undo.",
        "They are kept on this server only; save an analysis as a file on Report to "
        "take it elsewhere.",
    ),
    "cl-columns": Explanation(
        "Every column with the role it was given, its values, the share of missing "
        "cells and why it has that role.",
        "Only numeric, categorical and ordinal columns become features. A changed "
        "role says “chosen by you”.",
        "A role is a guess from names and values; a code written in digits looks like "
        "a number.",
    ),
    "cl-preparation": Explanation(
        "How the table becomes numbers, and a map of what goes into the pool.",
        "Two numeric columns are the axes themselves. Otherwise the map shows the "
        "first two principal components, and bars their shares of the variance.",
        "Groups that lie in other components do not show on the map, and groups on "
        "the map may be one group in another projection.",
    ),
    "cl-done": Explanation(
        "Every step from the file to the features, with its count.",
        "Nothing is dropped, filled or scaled that is not listed here.",
        "A list of steps does not say whether they were wise for your question.",
    ),
    "cl-rows": Explanation(
        "Rows of the table, as read or as features.",
        "Look for shifted columns, units and codes for missing values.",
        "A few rows are no check of all.",
    ),
    "cl-pool": Explanation(
        "Which clusterings will be fitted: families, clusterers, and lists of values.",
        "Several lists mean every combination. Hover over a clusterer to read what "
        "groups it finds that others do not. A changed value is outlined; a method "
        "that does not fit this size says why.",
        "The consensus is the opinion of these models: whatever is run more often "
        "counts for more.",
        f"{_CONSENSUS}, section 4 (the pools of its experiments)",
    ),
    "cl-pool-cost": Explanation(
        "What the pool will cost, its make-up by family, and the button that runs it.",
        "Times are estimates from the size of the table with their uncertainty.",
        "An estimate knows nothing of what else runs on this machine.",
    ),
    "cl-latest-run": Explanation(
        "All runs, and the outcome of each model of the selected run.",
        "Select, rename or delete a run (undo restores it). Models that failed or "
        "reached a limit are listed with the reason.",
        "A usable model need not be a good one.",
    ),
    "cl-run-progress": Explanation(
        "The run while its models are fitted, one square each.",
        "Hover over a square for name and time; stop and keep takes what is done.",
        "The first models are the quick ones: an early order is not the last one.",
    ),
    "cl-import": Explanation(
        "Partitions that were made elsewhere, as columns of labels.",
        "They become a run of their own, or join the models of this one, by row id.",
        "Nothing is known of how they were made, so none can be run on copies.",
    ),
    "cl-headline": Explanation(
        "The model that is closest to what the pool agrees on, and how far to trust "
        "that.",
        "“Keeps rank 1”: it stays first whichever family of models is left out. The "
        "check beside it runs the pool on copies without groups. After answers, the "
        "model expected to agree most with your grouping may be named first.",
        "Most typical of this pool does not mean true: uniform noise has a leader, "
        "too.",
        f"{_CONSENSUS}, equation 3",
    ),
    "cl-map": Explanation(
        "The samples on their two numeric columns, or, if the features are others, on "
        "their first two principal components.",
        "Colours follow the leader, so that a colour means the same group for every "
        "model. A click inspects, a box or lasso selects.",
        "Distances on components are not those that the models use; groups may overlap "
        "here and not there.",
    ),
    "cl-consensus-matrix": Explanation(
        "For each pair of samples the share of models that put them together: the "
        "consensus or co-association matrix.",
        "Bright blocks are groups the pool agrees on; a pixel is the mean over its "
        "pairs, exact at every size. Even shading, by equalised histogram, uses all "
        "colours alike.",
        "Blocks depend on the order of the samples, and agreement is not truth.",
        f"{_CONSENSUS}, section 2 (the consensus matrix)",
    ),
    "cl-binarised-matrix": Explanation(
        "The pairs that at least as many models put together as the threshold asks.",
        "Filled blocks are groups at this threshold. Both matrices share zoom and "
        "order: by clusters, by the consensus tree, or as in the file.",
        "Being together is not transitive here: these are pairs, not a partition.",
        f"{_CONSENSUS}, section 2 (binarised by the mean)",
    ),
    "cl-threshold": Explanation(
        "How many models must agree on a pair, and the ranks of the three leaders at "
        "every such number.",
        "Drag the line or press Average or Majority. Lines that cross mean that the "
        "order rests on this choice.",
        "No threshold is the right one; the published rule is the mean agreement (mean "
        "of the co-association matrix).",
        f"{_CONSENSUS}, Algorithm 1",
    ),
    "cl-ranking": Explanation(
        "The distinct partitions, closest to the consensus first. Typical half: only "
        "the half of the models that agree most with the others vote, because some "
        "settings fit nothing. ○: no vote.",
        "Teal is the distance (DISCOTEC), orange the charge for broken links. Without "
        "a family: ranks when any one is left out; if most agree: rank at a majority "
        "threshold. With answers: how likely each model is; tick: before.",
        "The right model may be alone and rank last. Look at the end, too.",
        f"{_CONSENSUS}, equation 3 and Algorithm 1",
    ),
    "cl-map-models": Explanation(
        "The models among themselves, each as one point.",
        "Models that found similar partitions lie near each other; a click selects "
        "one. Groups of models that found nearly the same are near-copies (hubs).",
        "A plane cannot keep all distances, and a lonely model may be the right one.",
    ),
    "cl-model-table-card": Explanation(
        "Every score and index of the models, as one table over the page.",
        "A title sorts by its column; a score says which way is better.",
        "Indices favour the shapes they were made for: the silhouette round groups, "
        "DBCV dense ones.",
    ),
    "cl-inspector": Explanation(
        "Whatever was clicked: a model, a sample, a selection, or the links.",
        "Columns are sorted by effect, in standard deviations. Inside: the share of "
        "models that keep two rows of the cluster together (cluster consensus). "
        "“Doubtful” samples are joined more often with another cluster.",
        "An effect describes a cluster; it does not say what made it.",
        f"{_MONTI} (cluster and item consensus)",
    ),
    "cl-partition": Explanation(
        "Which partition the page is about: a consensus at any k, a model, a group, "
        "the labels.",
        "A consensus partition can be kept among the models and named.",
        "A consensus partition is made from the models; it knows no more than they.",
        "Fred & Jain, IEEE TPAMI 27, 2005, doi:10.1109/TPAMI.2005.113; Candel, Linear "
        "time Evidence Accumulation Clustering",
    ),
    "cl-k-evidence": Explanation(
        "The cuts of the consensus tree at each k, and the evidence for a k. ◆ is the "
        "cut closest to the models (DISCOTEC, Kullback-Leibler; an estimate if the "
        "agreements are estimated); the page begins with it.",
        "A width is a share of samples. A dot clear below both ranges of copies "
        "without groups speaks for its k.",
        "It may well be that no k stands out; then none is named.",
        f"{_MONTI}; Senbabaoglu et al., 2014, doi:10.1038/srep06207 (PAC)",
    ),
    "cl-profile": Explanation(
        "Each cluster with its size, the means of its columns, and the share of models "
        "that keep two of its rows together (cluster consensus).",
        "Colour is the effect, brown below and teal above the mean of all samples.",
        "Columns made the clusters, so differences in them prove nothing.",
        _MONTI,
    ),
    "cl-apart": Explanation(
        "The columns that set the cluster apart, over the rest.",
        "Both histograms have the same area; triangles are means.",
        "A cluster can lie apart in a combination of columns and in none alone.",
    ),
    "cl-compare": Explanation(
        "Two partitions side by side, with their clusters matched.",
        "Strong points change their cluster; a cell of the table selects its samples.",
        "Matching is by overlap; another matching may come close.",
        "Kuhn 1955, doi:10.1002/nav.3800020109 (matching); Hubert & Arabie 1985, "
        "doi:10.1007/BF01908075 (adjusted Rand index)",
    ),
    "cl-cns-headline": Explanation(
        "The clusters of CNS in force, and its criterion.",
        "The criterion says how much clearer the clusters are than one cluster.",
        "It is no test that clusters exist.",
        _CNS,
    ),
    "cl-cns-settings": Explanation(
        "Neighbours, alpha and the number of clusters, each above a curve of the "
        "criterion.",
        "Open diamonds were tried automatically, the filled one was chosen.",
        "The automatic choice is the best of its grid, not of all settings.",
        _CNS,
    ),
    "cl-membership-map": Explanation(
        "The samples by their likeliest seed.",
        "Hue is the seed, paleness uncertainty; a click draws the way to the seeds.",
        "Certainty is a share of walks that stop at a seed, not a probability that "
        "the cluster is real.",
        _CNS,
    ),
    "cl-cns-reading": Explanation(
        "Where the walks that begin at one sample stop.",
        "Shares of the walks that end at a seed (absorption probability), with the raw "
        "membership beside them.",
        "Most walks stop at no seed: raw memberships all lie near 1/K.",
        _CNS,
    ),
    "cl-criterion": Explanation(
        "The criterion over neighbours and alpha at the present number of clusters.",
        "A click goes there; hatched cells need their neighbours to be computed.",
        "A broad plateau is worth more than a single peak.",
        _CNS,
    ),
    "cl-cns-smoothing": Explanation(
        "The smoothing step by step, from the seeds to its fixed point.",
        "“Settled” samples are already in their last cluster.",
        "The bound is proven, but far above the true error at most sizes.",
        _CNS,
    ),
    "cl-cns-certainty": Explanation(
        "How certain the samples are, and where you draw the line.",
        "Samples left of the line are counted as between clusters.",
        "The line is a choice, no test.",
        _CNS,
    ),
    "cl-cns-published": Explanation(
        "What the three published versions of CNS choose by themselves.",
        "They differ in their grids of neighbours and alpha.",
        "Agreement of versions is agreement of one method with itself.",
        _CNS,
    ),
    "cl-fuzzy-headline": Explanation(
        "Which two partitions are compared, and their concordance (NDC).",
        "1 is identity. NDC is the share of pairs about which both say the same.",
        "0 is not chance: unadjusted values are high for vague partitions.",
        "Hüllermeier et al., IEEE TFS 20, 2012, doi:10.1109/TFUZZ.2011.2179303",
    ),
    "cl-fuzzy-agreement": Explanation(
        "The concordance adjusted for chance under each random model.",
        "0 is what the model expects by chance, 1 is identity; columns say which side "
        "is drawn.",
        "Values under different models cannot be compared with each other.",
        f"{_FUZZY}, equations 5 and 6",
    ),
    "cl-guide": Explanation(
        "Two questions about how the partitions arose pick the value to report.",
        "Answer them with the values hidden.",
        "They cannot say that your answer is right, only that it came first.",
        _FUZZY,
    ),
    "cl-fuzzy-maps": Explanation(
        "Both partitions on the map, and where they disagree.",
        "Hues of V are matched to U for the eye; the third map shows the mean "
        "discordance of a sample.",
        "Matching of hues has no part in the values.",
        _FUZZY,
    ),
    "cl-fuzzy-rows": Explanation(
        "The memberships of both sides, and what Fit and Sym draw from.",
        "A line far from the bars means that the model draws other rows than yours.",
        "A good fit of each column does not make the rows alike.",
        _FUZZY,
    ),
    "cl-fuzzy-square": Explanation(
        "All pairs of the soft partitions under one random model.",
        "A click opens a pair, a name sorts by likeness to it.",
        "Partitions that concord may share an error.",
        _FUZZY,
    ),
    "cl-fuzzy-toys": Explanation(
        "The toy partitions of the paper with their ranks under each model.",
        "The same pairs, another order under another model.",
        "They were made to show this; real ones often differ less.",
        f"{_FUZZY}, Table 2",
    ),
    "cl-verdict-card": Explanation(
        "What of the result can be defended and what cannot: one paragraph to copy, "
        "and the answers that it is made of.",
        "A dot is green for yes, amber for in part, red for no and grey for not asked. "
        "A button asks, with its expected time. Report begins with this paragraph.",
        "Nothing new is measured here: each line is a result of another page. What was "
        "not asked speaks neither for the result nor against it.",
    ),
    "cl-labels-headline": Explanation(
        "Whether these classes or clusters are separate groups, with the evidence.",
        "Given labels: the lowest and the highest pair tell more than the mean. "
        "Clusters: whether they are found again and lie apart, more than by chance.",
        "It is about these columns and this scaling, not about the groups as such.",
        _LABELS,
    ),
    "cl-label-anchors": Explanation(
        "Two scores of these labels, beside the scores of well-known tables.",
        "Left: groups around centres (CH_btwn). Right: dense groups of any shape "
        "(DBCV). Dashed: the same labels, shuffled over the rows.",
        "Values of DBCV mean little without such anchors.",
        f"{_LABELS}; Moulavi et al. 2014, doi:10.1137/1.9781611973440.96 (DBCV)",
    ),
    "cl-label-pair-table": Explanation(
        "The score of every pair.",
        "Low pairs mix. A click opens the pair on the map.",
        "Pairs with few rows say little; they are hatched.",
        _LABELS,
    ),
    "cl-class-pair": Explanation(
        "Two classes in a plane through their means, with the columns that differ.",
        "Vertical: the line through both means. Horizontal: the largest spread across "
        "it.",
        "No other plane shows the means further apart, so this view flatters the gap.",
        _LABELS,
    ),
    "cl-label-agreement": Explanation(
        "How far the models of the pool agree with the classes.",
        "A dot is a model; the leader and the highest are ringed.",
        "The highest was picked knowing the labels: a limit, not a promise.",
        "Hubert & Arabie 1985, doi:10.1007/BF01908075",
    ),
    "cl-cluster-evidence-card": Explanation(
        "Each cluster beside clusters of copies of the table that have no groups.",
        "Found again: rows shared with what other samples make of it. Neighbours "
        "inside: nearest rows that are in the same cluster.",
        "The copies are Gaussian and uniform; other tables without groups may be cut "
        "more clearly still.",
        "Hennig 2007, doi:10.1016/j.csda.2006.11.025; Ding & He 2004, "
        "doi:10.1145/967900.968021",
    ),
    "cl-label-gains": Explanation(
        "The score after merging two classes.",
        "A click merges them on this page only; you can undo it.",
        "A higher score does not prove that the two are one class, only that these "
        "columns do not separate them.",
        _LABELS,
    ),
    "cl-label-grounds": Explanation(
        "The evidence behind the verdict. Given labels: centres, density, agreement of "
        "the pool. Clusters: stability and separation.",
        "Each has its own light; a measure that was not computed does not count.",
        "Yes, in part and no are our thresholds on continuous scores.",
    ),
    "cl-steps": Explanation(
        "Every step of the analysis, in order.",
        "A click goes back to a step; undone ones stay until something new is done.",
        "Steps say what was done, not why: write that into the note.",
    ),
    "cl-new-rows-headline": Explanation(
        "Where the rows of the new table belong, and the next step.",
        "A row belongs nowhere if it is further from its cluster than 95% of the old "
        "rows. Clearly more than 5% of such rows mean that the table has changed. With "
        "noise, the limit comes from repeated clusterings.",
        "It says that something changed, not why, and not whether it matters. Rates "
        "were measured for k-means, mixtures, DBSCAN and HDBSCAN; for Ward's linkage "
        "among scattered rows false alarms are more frequent.",
        "Vovk, Gammerman & Shafer, Algorithmic learning in a random world, 2005",
    ),
    "cl-segmentation": Explanation(
        "A partition that is kept for other tables: its clusters, their names, and "
        "how many of the old rows get their cluster if they are left out.",
        "The share comes from held-out rows. Rules are measured on rows that were not "
        "used to find them: precision (share of matching rows that are in the cluster) "
        "and recall (share of its rows that match).",
        "A rule describes a cluster in few words; it is not what decides where new "
        "rows belong.",
    ),
    "cl-new-table-card": Explanation(
        "The share of each cluster in the old table and in the new one.",
        "Lines are Wilson intervals at 95%. Rows that belong nowhere are counted in "
        "no cluster. A change is judged against the shares that rows like the old ones "
        "would get.",
        "With many clusters, some shares leave their interval by chance.",
    ),
    "cl-drift": Explanation(
        "How far each column moved from the old table to the new one.",
        "PSI = sum (p − q) ln(p / q) over tenths of the old values or over levels; the "
        "line is what an unchanged column has. Moved: p at most 0.025 (Holm) and a PSI "
        "0.05 above the line.",
        "It says that a column is distributed otherwise, not why, and not that the "
        "clusters are wrong.",
        "Holm, A simple sequentially rejective multiple test procedure, 1979",
    ),
    "cl-all-rows-headline": Explanation(
        "How many landmarks stand for how many rows, and whether all rows have labels.",
        "The adjusted Rand index compares the labels of held-out rows with a fit to "
        "these rows alone. Near 1, other landmarks would give the same labels.",
        "Both fits are fits to samples, so the index is rather too low. Settings that "
        "count rows (min_cluster_size) mean another model on all rows.",
    ),
    "cl-all-rows": Explanation(
        "Rows of each cluster in the whole table, and the columns in which they differ "
        "most from all rows.",
        "A share of all rows far from that of the landmarks means that the landmarks "
        "do not represent the cluster well.",
        "Sizes and means are exact for the labels; the labels come from the landmarks.",
    ),
    "cl-all-rows-models": Explanation(
        "The models of the run, ranked by their distance to what they agree on, from "
        "the labels of all rows.",
        "Small numbers: intervals. The last column compares each model with the same "
        "model fitted to as many other rows; 1 is equal.",
        "A model that repeats itself on other rows need not be a good one.",
    ),
    "cl-all-rows-list": Explanation(
        "Rows of one part of the table with their cluster, as labelled.",
        "The margin is near 1 far inside a cluster, and near 0 between two. Links lead "
        "to the parts before and after.",
        "At most 40 rows of a part are listed; the files hold all.",
    ),
    "cl-all-rows-map": Explanation(
        "All rows of the table on the two principal components of the landmarks.",
        "A pixel has the mean colour of its rows. Zoom in to separate them.",
        "Two axes hold a part of the variance only: clusters that overlap here may be "
        "apart in other directions.",
    ),
    "cl-new-rows-map": Explanation(
        "The rows of the new table over those of the old one, on two numeric columns "
        "or on the two principal components of the old rows.",
        "Grey: old rows. Colour: the cluster of a new row. Crosses: rows that belong "
        "nowhere. A click reads a row.",
        "Two axes hold a part of the variance only: a cross among grey points may be "
        "far from them in other directions.",
    ),
    "cl-new-row": Explanation(
        "A row of the new table: its cluster, the next one, and the old rows that it "
        "lies nearest to.",
        "Bars: how much likelier its value is in the one cluster than in the other, "
        "each column by itself. Arrows go through the list.",
        "The columns describe both clusters; what decides is the distance in all "
        "prepared columns together.",
    ),
    "cl-placed-rows": Explanation(
        "Rows of the new table with their cluster, the margin and the next cluster.",
        "Margin: share of similar held-out rows that got their own cluster, minus the "
        "share that did not. Ties: the less clear row first, then the less typical.",
        "A large margin does not exclude that a row is of a new kind; the mark "
        "“nowhere” shows that.",
    ),
    "cl-new-rows-files": Explanation(
        "The rows with their clusters, the rules as SQL, and the segmentation itself.",
        "The segmentation file works in Python and on the console, for files of any "
        "length; the line beside it can be copied.",
        "It may contain rows of your table as scaled prototypes: share it with care.",
    ),
    "cl-report-card": Explanation(
        "The report as it will be saved, one HTML file.",
        "It is updated after each change; your note follows the verdict.",
        "It contains rows of your table: share it with care.",
    ),
    "cl-exports": Explanation(
        "Files to take away: rows, ranking, links, figures, script.",
        "Each is built when you click it.",
        "An estimated ranking says so in the report, its table and the script.",
    ),
    "cl-script-card": Explanation(
        "The analysis as Python with public names only.",
        "It loads the same table and runs the same pool; a check runs it elsewhere.",
        "Another version of a library may find other clusters.",
    ),
    "cl-lessons-card": Explanation(
        "Lessons on the working pages.",
        "Each checks by the state of its own analysis that a step is done.",
        "What they show was computed on small examples.",
    ),
    "cl-class": Explanation(
        "How many open pages of a class are at which step of a lesson.",
        "A page counts while a lesson is open on it. The counts are renewed every two "
        "seconds.",
        "It does not say who is where, or who has finished.",
    ),
}

GLOSSARY = {
    "adjusted Rand index": "Agreement of two partitions over pairs of samples: 1 for "
    "the same partition, about 0 by chance.",
    "agreement count": "How many partitions put two samples together.",
    "binarised consensus": "For each pair of samples whether the agreement count "
    "reaches the threshold.",
    "cannot-link": "Your statement that two rows belong to different clusters.",
    "CH_btwn": "Score of class labels that can be compared between tables: how far "
    "classes lie apart around their centres, 0 for labels dealt at random.",
    "cluster consensus": "Mean consensus of the pairs inside a cluster.",
    "consensus matrix": "For each pair of samples the share of partitions that put "
    "them together.",
    "consensus partition": "One partition made from the consensus of an ensemble.",
    "consistency": "Share of the nearest neighbours of a cluster's rows that are in "
    "the cluster.",
    "copies without groups": "Tables as wide and long as yours with columns shuffled, "
    "or drawn from one Gaussian or evenly from a box: the null reference.",
    "DBCV": "Score of clusters of any shape by the density inside and between them.",
    "DISCOTEC": "Scores of a model by its distance to the consensus of its pool; lower "
    "is more typical.",
    "ensemble": "The partitions of one run.",
    "family": "Models of one kind, such as k-means, mixtures or density models.",
    "majority": "The threshold at which more than half of the models must agree.",
    "mean rule": "The least threshold that is not below the mean agreement count.",
    "membership": "How far a sample belongs to a cluster, from 0 to 1.",
    "model": "One fitted clustering of the pool.",
    "must-link": "Your statement that two rows belong to the same cluster.",
    "NDC": "Normalised degree of concordance of two fuzzy partitions.",
    "near-copies": "Models that found nearly the same partition: a hub.",
    "noise": "Samples that a density model puts into no cluster, with label -1. They "
    "count as a cluster, as alone, or the model says nothing about them: see Pool.",
    "PAC": "Proportion of ambiguous clustering: share of pairs that some resampled "
    "clusterings join and others separate; low is clear.",
    "partition": "The clusters that one model found: one label per sample.",
    "pool": "The models that are asked to cluster a table.",
    "run": "A prepared table, a pool with its seed, and what the pool found.",
    "stable": "A cluster is stable if resamples of the rows give it again, more "
    "closely than clusters of copies without groups (bootstrap Jaccard).",
    "threshold": "How many models must agree on a pair.",
}
