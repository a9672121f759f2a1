"""A client that does little and watches closely: how long others wait while a server is busy with something.

    python -m bench.probe PORT TOPIC PER_S SECONDS

Two connections, each in a thread: one produces one record a request with acks=1, one asks for ApiVersions, which needs
no disk at all. Requests are due at fixed times. A request that could not be sent when it was due, because the answer to
the one before was late, counts from when it was due: a stall of a second is not one slow request but a second's worth.
Prints the latencies in microseconds as JSON.
"""

import json
import sys
import threading
import time

from bench.wire import PRODUCE_VERSION, Connection, frame, one_record_batch, ping_frame, produce_request


def probe(port: int, request: bytes, per_s: float, seconds: float) -> list[int]:
    connection = Connection(port)
    connection.exchange(request)
    latencies_us = []
    started = time.perf_counter()
    for number in range(int(per_s * seconds)):
        due = started + number / per_s
        if (early := due - time.perf_counter()) > 0:
            time.sleep(early)
        else:
            early = 0.0
        # A sleep that took too long is the probe's own fault.
        counted_from = time.perf_counter() if early else due
        connection.exchange(request)
        latencies_us.append(int((time.perf_counter() - counted_from) * 1e6))
    connection.close()
    return latencies_us


def main() -> None:
    port, topic, per_s, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
    requests = {
        "produce": frame(produce_request(topic, [0], one_record_batch()), PRODUCE_VERSION),
        "ping": ping_frame(),
    }
    found: dict[str, list[int]] = {}

    def watch(name: str) -> None:
        found[name] = probe(port, requests[name], per_s, seconds)

    threads = [threading.Thread(target=watch, args=(name,)) for name in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
