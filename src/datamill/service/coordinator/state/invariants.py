"""What must hold after every change, whatever happened: asked of the database."""

from __future__ import annotations

from datamill.service.coordinator.state.rows import select_rows

#: Sentence -> query for what breaks it: each row is one thing that does.
_RULES = {
    "a worker has two open attempts": """
        SELECT worker_id FROM datamill_attempt WHERE state IN ('leased', 'taken')
        GROUP BY worker_id HAVING COUNT(*) > 1""",
    "a trial has two attempts that count": """
        SELECT trial_id FROM datamill_attempt WHERE state = 'counted'
        GROUP BY trial_id HAVING COUNT(*) > 1""",
    "a counted trial has no attempt that counts": """
        SELECT t.id FROM datamill_trial t WHERE t.state = 'counted' AND NOT EXISTS (
            SELECT 1 FROM datamill_attempt a WHERE a.trial_id = t.id AND a.state = 'counted')""",
    "an attempt counts and its trial does not": """
        SELECT a.key FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
        WHERE a.state = 'counted' AND t.state <> 'counted'""",
    "a leased trial has no open attempt": """
        SELECT t.id FROM datamill_trial t WHERE t.state = 'leased' AND NOT EXISTS (
            SELECT 1 FROM datamill_attempt a WHERE a.trial_id = t.id AND a.state IN ('leased', 'taken'))""",
    "an open attempt's trial could be leased again": """
        SELECT a.key FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
        WHERE a.state IN ('leased', 'taken') AND t.state IN ('waiting', 'planned', 'given_up')""",
    "a trial's number of attempts is not that of its attempts": """
        SELECT t.id FROM datamill_trial t LEFT JOIN datamill_attempt a ON a.trial_id = t.id
        GROUP BY t.id, t.attempts HAVING t.attempts <> COUNT(a.id)""",
    "a trial has more attempts than its experiment allows": """
        SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
        WHERE t.attempts > e.most_attempts""",
    "an idle or silent worker has an open attempt": """
        SELECT w.worker_id FROM datamill_worker w JOIN datamill_attempt a ON a.worker_id = w.worker_id
        WHERE w.state IN ('idle', 'away', 'silent', 'removed') AND a.state IN ('leased', 'taken')""",
    "a busy worker has no open attempt": """
        SELECT w.worker_id FROM datamill_worker w WHERE w.state = 'busy' AND NOT EXISTS (
            SELECT 1 FROM datamill_attempt a
            WHERE a.worker_id = w.worker_id AND a.state IN ('leased', 'taken'))""",
    "an ended experiment has an open trial": """
        SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
        WHERE e.state IN ('completed', 'cancelled') AND t.state IN ('waiting', 'planned', 'leased')
            AND NOT (e.state = 'cancelled' AND e.releasing AND t.state <> 'leased')""",
    "a trial of a held experiment may be leased": """
        SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
        WHERE t.state = 'planned'
            AND (e.state = 'held' OR (e.state = 'debugging' AND t.purpose <> 'debug'))""",
    "a trial may be leased before what it needs is done": """
        SELECT t.id FROM datamill_trial t WHERE t.state IN ('planned', 'leased') AND t.needs_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM datamill_attempt a WHERE a.trial_id = t.needs_id
                AND a.state = 'counted' AND a.outcome = 'completed')""",
    "a trial waits for what will never be done": """
        SELECT t.id FROM datamill_trial t JOIN datamill_trial n ON n.id = t.needs_id
        WHERE t.state = 'waiting' AND (n.state = 'given_up' OR (n.state = 'counted' AND NOT EXISTS (
            SELECT 1 FROM datamill_attempt a
            WHERE a.trial_id = n.id AND a.state = 'counted' AND a.outcome = 'completed')))""",
    "a trial waits although what it needs is done": """
        SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
        JOIN datamill_trial n ON n.id = t.needs_id AND n.state = 'counted'
        WHERE t.state = 'waiting' AND e.state = 'running' AND NOT e.releasing
            AND t.position <= COALESCE(e.open_position, t.position)
            AND (t.purpose <> 'profile' OR e.open_position IS NULL)
            AND NOT EXISTS (SELECT 1 FROM datamill_packagestanding s WHERE s.experiment_id = e.id
                AND s.package_sha256 = t.package_sha256 AND s.cancelling)""",
    "a trial went that waits for a look": """
        SELECT t.id FROM datamill_trial t JOIN datamill_experiment e ON e.id = t.experiment_id
        WHERE t.position > e.open_position AND t.state IN ('planned', 'leased', 'counted', 'given_up')
            AND NOT (t.state = 'given_up' AND t.attempts = 0 AND t.needs_id IS NOT NULL)""",
    "a batch is open and a look before it was not made, or stopped": """
        SELECT l.experiment_id FROM datamill_look l JOIN datamill_experiment e ON e.id = l.experiment_id
        WHERE l.last_position < e.open_position AND (l.stops IS NULL OR l.stops)""",
    "a package in quarantine may be leased": """
        SELECT t.id FROM datamill_trial t JOIN datamill_quarantine q ON q.sha256 = t.package_sha256
        JOIN datamill_experiment e ON e.id = t.experiment_id
        WHERE q.lifted_unix_s IS NULL AND t.state = 'planned' AND e.state <> 'cancelled'""",
    "a trial of a stopped package may be leased": """
        SELECT t.id FROM datamill_trial t JOIN datamill_packagestanding s
            ON s.experiment_id = t.experiment_id AND s.package_sha256 = t.package_sha256
        WHERE s.state = 'stopped' AND NOT s.cancelling AND t.state IN ('waiting', 'planned')""",
    "an attempt was leased and no event reports it": """
        SELECT a.key FROM datamill_attempt a WHERE NOT EXISTS (
            SELECT 1 FROM datamill_event v
            WHERE v.worker_id = a.worker_id AND v.attempt = a.key AND v.kind = 'attempt leased')""",
    "a count of trials is not that of the trials": """
        SELECT v.experiment_id FROM (
            SELECT experiment_id, worker_id, purpose, state, COUNT(*) AS trials FROM datamill_trial
            GROUP BY experiment_id, worker_id, purpose, state
            UNION ALL
            SELECT experiment_id, worker_id, purpose, state, -trials FROM datamill_trialcount
        ) v GROUP BY v.experiment_id, v.worker_id, v.purpose, v.state HAVING SUM(v.trials) <> 0""",
    "a worker's pace is not that of its trials": """
        SELECT v.experiment_id FROM (
            SELECT t.experiment_id, a.worker_id, COUNT(*) AS trials, MIN(a.leased_unix_s) AS first_s,
                MAX(a.ended_unix_s) AS last_s, 1 AS one
            FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
            WHERE a.state = 'counted' AND t.purpose = 'design' GROUP BY t.experiment_id, a.worker_id
            UNION ALL
            SELECT experiment_id, worker_id, trials, first_leased_unix_s, last_ended_unix_s, -1
            FROM datamill_pace
        ) v GROUP BY v.experiment_id, v.worker_id, v.trials, v.first_s, v.last_s HAVING SUM(v.one) <> 0""",
    "an attempt no longer holds its worker and nobody was charged for it": """
        SELECT a.key FROM datamill_attempt a
        WHERE a.state NOT IN ('leased', 'taken') AND a.start_s IS NOT NULL AND a.held_s IS NULL""",
    "the machine time of a user is not that of the user's attempts": """
        SELECT v.worker_id FROM (
            SELECT a.worker_id, e.owner_id AS user_id, SUM(a.held_s) AS held_s, COUNT(a.held_s) AS attempts
            FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
            JOIN datamill_experiment e ON e.id = t.experiment_id
            WHERE a.held_s IS NOT NULL GROUP BY a.worker_id, e.owner_id
            UNION ALL
            SELECT worker_id, user_id, -held_s, -attempts FROM datamill_usertime
        ) v GROUP BY v.worker_id, v.user_id
        HAVING SUM(v.attempts) <> 0 OR ABS(SUM(v.held_s)) > 1e-6 * (1 + MAX(ABS(v.held_s)))""",
    "the machine time of an experiment is not that of its attempts": """
        SELECT v.worker_id FROM (
            SELECT a.worker_id, t.experiment_id, SUM(a.held_s) AS held_s, COUNT(a.held_s) AS attempts
            FROM datamill_attempt a JOIN datamill_trial t ON t.id = a.trial_id
            WHERE a.held_s IS NOT NULL GROUP BY a.worker_id, t.experiment_id
            UNION ALL
            SELECT worker_id, experiment_id, -held_s, -attempts FROM datamill_experimenttime
        ) v GROUP BY v.worker_id, v.experiment_id
        HAVING SUM(v.attempts) <> 0 OR ABS(SUM(v.held_s)) > 1e-6 * (1 + MAX(ABS(v.held_s)))""",
}
#: Examples that a sentence names.
_EXAMPLES = 5


def find_violations() -> list[str]:
    """Return what does not hold, one sentence each; nothing when all is well."""
    violations = []
    for sentence, query in _RULES.items():
        broken = select_rows(f"{query} LIMIT {_EXAMPLES}")
        if broken:
            violations.append(f"{sentence}: {', '.join(str(row[0]) for row in broken)}")
    return violations
