"""From a table to a ranking of clusterings, without a browser."""

import clusterlens as cl


def main() -> None:
    """Rank a small pool on the iris flowers and say how far to trust the leader."""
    dataset = cl.prepare(cl.load_example("iris"))
    for note in dataset.notes:
        print("-", note)

    ensemble = cl.run_pool(dataset.X, pool="quick", random_state=0)
    agreement = cl.count_agreements(ensemble)
    ranking = cl.rank_partitions(agreement)
    print(ranking.to_frame()[["rank", "model", "n_clusters", "score"]].head())

    leader = ranking.order[0]
    robustness = cl.rank_robustness(agreement)
    print(
        f"{ensemble.names[leader]}: rank {robustness.lowest[leader]:.0f} to "
        f"{robustness.highest[leader]:.0f} without any one family, "
        f"{robustness.ranks_majority[leader]} if a majority must agree"
    )

    profiles = cl.cluster_profiles(dataset, ensemble.labels[leader])
    for cluster in profiles.clusters:
        print(f"cluster {cluster}: {profiles.text(cluster)}")

    labelled = cl.attach_labels(dataset, {"cluster": ensemble.labels[leader]})
    print(labelled.head())


if __name__ == "__main__":
    main()
