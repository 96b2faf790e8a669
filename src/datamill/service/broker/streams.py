"""The two streams at the broker, and the consumer with which the coordinator reads one of them."""

from __future__ import annotations

from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    PersistMode,
    RetentionPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import APIError, NotFoundError

from datamill.service.broker.server_config import MOST_PAYLOAD_BYTES

JOBS = "JOBS"
RESULTS = "RESULTS"
CONSUMER = "coordinator"
#: Where reports are delivered; no worker may publish or subscribe there.
DELIVERY_SUBJECT = "coordinator.reports"

_DAY_S = 86400.0
#: A report is ingested long before; the rest is for looking back, and for a database from a backup.
_RESULTS_AGE_S = 7 * _DAY_S
#: Bounds what one worker can fill the stream with.
_MOST_RESULTS_OF_A_WORKER = 20_000
#: Bounds what all of them can fill the broker's disk with; some 50 000 reports.
MOST_RESULTS_BYTES = 1 << 30
#: A broker that has no room for so much is asked for less, down to this.
_LEAST_RESULTS_BYTES = 64 << 20
#: From this share of its bound on, the stream forgets what is in the database.
_FULL_SHARE = 0.5
#: What a broker says that has no room for a stream's bound: account, server, disk.
_NO_ROOM = (10002, 10023, 10028, 10047)
#: Time after which a report that the coordinator did not acknowledge is given again.
_ACK_WAIT_S = 10.0
_MOST_UNACKNOWLEDGED = 2000


async def ensure_streams(
    jetstream: JetStreamContext, replicas: int, *, is_own: bool, most_bytes: int = MOST_RESULTS_BYTES
) -> int:
    """Make the streams that are missing, and bring those that are there to their configuration.

    Args:
        jetstream: the broker.
        replicas: copies of each message.
        is_own: whether the broker is the one that this coordinator starts.
        most_bytes: bound of RESULTS.

    Returns:
        How many workers the broker has orders of.

    RESULTS refuses what is beyond its bound in bytes rather than forget what nobody has read: workers keep
    what was not acknowledged, and try again later and later. `make_room` forgets what the database has. Of
    one worker's reports beyond their number the oldest go; it sends again those without a receipt.

    RESULTS forgets identities of messages at once: with a window, a worker could send a message with the
    identity of another's report, which the broker would then take for a repetition. Ingesting is idempotent.

    Orders at a broker of our own (`is_own`) need not be on the disk when it acknowledges them, as reports
    must: a broker that lost some was started anew, and the coordinator sends all of them again over each
    connection. It writes them a little later, many at once. In a cluster, a server to which we are not
    connected could lose them unseen.
    """
    jobs = StreamConfig(
        name=JOBS,
        description="Orders: the latest of each worker",
        subjects=["jobs.>"],
        retention=RetentionPolicy.LIMITS,
        max_msgs_per_subject=1,
        discard=DiscardPolicy.OLD,
        storage=StorageType.FILE,
        num_replicas=replicas,
        duplicate_window=120.0,
        allow_direct=True,
        persist_mode=PersistMode.ASYNC if is_own else None,
        max_msg_size=MOST_PAYLOAD_BYTES,
    )
    results = StreamConfig(
        name=RESULTS,
        description="Reports of workers",
        subjects=["results.>"],
        retention=RetentionPolicy.LIMITS,
        max_age=_RESULTS_AGE_S,
        max_msgs_per_subject=_MOST_RESULTS_OF_A_WORKER,
        max_bytes=most_bytes,
        discard=DiscardPolicy.NEW,
        storage=StorageType.FILE,
        num_replicas=replicas,
        duplicate_window=0.1,
        max_msg_size=MOST_PAYLOAD_BYTES,
    )
    await _ensure_bounded_stream(jetstream, results)
    info = await _ensure_stream(jetstream, jobs)
    return info.state.messages


async def ensure_consumer(jetstream: JetStreamContext) -> None:
    """Make the consumer when it is missing.

    One that is there stays, whatever happened to those whom it served: making it anew while a server of a
    cluster is away leaves it on two servers, and without a leader when one of these goes. What was under way
    to a coordinator that is gone comes again after the waiting time.
    """
    wanted = ConsumerConfig(
        durable_name=CONSUMER,
        deliver_subject=DELIVERY_SUBJECT,
        deliver_policy=DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=_ACK_WAIT_S,
        max_ack_pending=_MOST_UNACKNOWLEDGED,
        max_deliver=-1,
    )
    try:
        await jetstream.consumer_info(RESULTS, CONSUMER)
    except NotFoundError:
        await jetstream.add_consumer(RESULTS, wanted)


async def make_room(jetstream: JetStreamContext) -> int:
    """Have a stream of reports that fills up forget those that the coordinator has acknowledged.

    Returns:
        How many it forgot.
    """
    info = await jetstream.stream_info(RESULTS)
    bound = info.config.max_bytes or -1
    if bound < 0 or info.state.bytes < _FULL_SHARE * bound:
        return 0
    floor = (await jetstream.consumer_info(RESULTS, CONSUMER)).ack_floor
    read = floor.stream_seq if floor is not None else 0
    if read < info.state.first_seq:
        return 0
    await jetstream.purge_stream(RESULTS, seq=read + 1)
    return read + 1 - info.state.first_seq


async def _ensure_bounded_stream(jetstream: JetStreamContext, wanted: StreamConfig) -> None:
    """Make a stream with the largest bound, up to the wanted one, for which the broker has room."""
    while True:
        try:
            await _ensure_stream(jetstream, wanted)
        except APIError as error:
            less = (wanted.max_bytes or 0) // 4
            if error.err_code not in _NO_ROOM or less < _LEAST_RESULTS_BYTES:
                raise
            wanted.max_bytes = less
        else:
            return


async def _ensure_stream(jetstream: JetStreamContext, wanted: StreamConfig) -> StreamInfo:
    try:
        info = await jetstream.stream_info(str(wanted.name))
    except NotFoundError:
        return await jetstream.add_stream(wanted)
    # How a stream writes is settled when it is made.
    wanted.persist_mode = info.config.persist_mode
    there = info.config.as_dict()
    if any(there.get(name) != value for name, value in wanted.as_dict().items() if value is not None):
        info = await jetstream.update_stream(wanted)
    return info
