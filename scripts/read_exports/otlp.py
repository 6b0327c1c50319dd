#!/usr/bin/env python3
"""Checks exports of the target `otlp` with OpenTelemetry's own messages for Python (PyPI: opentelemetry-proto).

Compared with `jtrail report` are calls, total, self and CPU time and exceptions by method, calls and busy time by
thread, and waits for monitors. How spans nest is checked, too. EXPORT is a file in protobuf (.otlp.pb) or JSON
(.otlp.json) with all calls. With --send, jtrail also sends the trace to a collector, which this script is. All must
hold equal spans. The exit code is 1 if something differs.
"""

import argparse
import base64
import collections
import hashlib
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

BLOCKED = "blocked on a monitor"
WAITS = (BLOCKED, "Object.wait", "parked")
MARKS = "marks"
IDS = ("traceId", "spanId", "parentSpanId")

Span = collections.namedtuple("Span", "trace id parent thread start end method failed cpu")
Method = collections.namedtuple("Method", "calls total_ns self_ns exceptions cpu_total_ns")


class Wrong(Exception):
    """What is wrong with an export."""


def expect(condition, *what):
    if not condition:
        raise Wrong(" ".join(map(str, what)))


def protobuf_requests(path):
    """The batches of a file as requests. Each is the first field of a request, with its length."""
    with open(path, "rb") as file:
        while head := file.read(1):
            length = shift = 0
            while len(head) == 1 or head[-1] & 0x80:
                head += file.read(1)
                length |= (head[-1] & 0x7F) << shift
                shift += 7
            yield ExportTraceServiceRequest.FromString(head + file.read(length))


def json_requests(path):
    """The lines of a file as requests. Their ids are hexadecimal, and protobuf expects base64."""

    def in_base64(fields):
        return {key: base64.b64encode(bytes.fromhex(value)).decode() if key in IDS else value
                for key, value in fields.items()}

    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = json.loads(line, object_hook=in_base64)
            yield json_format.ParseDict(fields, ExportTraceServiceRequest())


def attributes(message):
    """The attributes of a message as a dictionary."""
    found = {}
    for pair in message.attributes:
        expect(pair.key not in found, "repeated attribute", pair.key)
        found[pair.key] = getattr(pair.value, pair.value.WhichOneof("value"))
    return found


class Export:
    """The spans of requests, with a hash of all that they say."""

    def __init__(self, requests):
        self.spans, self.links, self.resource = [], [], None
        self.exceptions = collections.Counter()
        self.traces = {}
        hashed = hashlib.sha256()
        for request in requests:
            for resource_spans in request.resource_spans:
                self._check_resource(resource_spans)
                for span in resource_spans.scope_spans[0].spans:
                    hashed.update(span.SerializeToString(deterministic=True))
                    self._add(span)
        self.hash = hashed.hexdigest()

    def _check_resource(self, resource_spans):
        resource = attributes(resource_spans.resource)
        expect(self.resource in (None, resource), "two resources:", self.resource, resource)
        self.resource = resource
        expect(resource["service.name"] and resource["telemetry.sdk.name"] == "jtrail", resource)
        scopes = resource_spans.scope_spans
        expect(len(scopes) == 1 and scopes[0].scope.name == "jtrail" and scopes[0].scope.version, "scopes:", scopes)

    def _add(self, span):
        found = attributes(span)
        expect(len(span.trace_id) == 16 and len(span.span_id) == 8, "ids have 16 and 8 bytes:", span)
        expect(span.kind == span.SPAN_KIND_INTERNAL and span.name, "kind or name:", span)
        name = found.get("code.function.name")
        if name:
            expect(name.endswith(span.name), "the name is the method's without its package:", span)
            name += found.get("jtrail.descriptor", "")
        failed = span.status.code == span.status.STATUS_CODE_ERROR
        self.spans.append(Span(self.traces.setdefault(span.trace_id, span.trace_id), span.span_id, span.parent_span_id, found.get("thread.id"),
                               span.start_time_unix_nano, span.end_time_unix_nano, sys.intern(name or span.name),
                               failed, found.get("jtrail.cpu_time_ns", 0)))
        self.links += [(link.trace_id, link.span_id) for link in span.links]
        for event in span.events:
            if event.name == "exception":
                self.exceptions[attributes(event)["exception.type"]] += 1


class Sums:
    """Sums over the spans of an export. The constructor checks how spans nest, too."""

    def __init__(self, spans):
        self.methods = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
        self.threads = collections.defaultdict(lambda: [0, 0])
        self.traces = collections.Counter()
        self.waits = []
        # For each trace: the open spans with the times of their callees, and their methods.
        self._open = collections.defaultdict(lambda: ([], collections.Counter()))
        # A parent comes after its children. So from the end, a span comes before what is in it.
        for span in reversed(spans):
            stack, methods = self._open[span.trace]
            while stack and stack[-1][0].id != span.parent:
                self._close(stack, methods)
            self._check(span, stack)
            self.traces[span.trace] += 1
            if span.method in WAITS:
                self.waits.append(span)
            else:
                self._add(span, stack, is_outermost=not methods[span.method])
            methods[span.method] += 1
            stack.append((span, [0]))
        for stack, methods in self._open.values():
            while stack:
                self._close(stack, methods)

    def _check(self, span, stack):
        expect(span.start <= span.end, "ends before it begins:", span)
        expect(bool(stack) == bool(span.parent), "no such parent, or a second root:", span)
        if stack:
            parent = stack[-1][0]
            expect(parent.start <= span.start and span.end <= parent.end, "not within its parent:", span, parent)
            expect(parent.thread == span.thread, "the parent is of another thread:", span, parent)

    def _add(self, span, stack, is_outermost):
        length = span.end - span.start
        sums = self.methods[span.method]
        sums[0] += 1
        sums[1] += length if is_outermost else 0
        sums[3] += span.failed
        sums[4] += span.cpu if is_outermost else 0
        self.threads[span.thread][0] += 1
        if stack:
            stack[-1][1][0] += length
        else:
            self.threads[span.thread][1] += length

    def _close(self, stack, methods):
        span, callees = stack.pop()
        methods[span.method] -= 1
        if span.method not in WAITS:
            self.methods[span.method][2] += span.end - span.start - callees[0]


def differences(what, ours, theirs):
    """Lines that name the first rows which differ."""
    keys = [key for key in sorted({*ours, *theirs}, key=str) if ours.get(key) != theirs.get(key)]
    return [f"{what} {key}: export {ours.get(key)}, report {theirs.get(key)}" for key in keys[:5]]


def compare(sums, report):
    """Compares an export of all calls with a report. Returns lines about differences."""
    methods = {name: Method(*figures) for name, figures in sums.methods.items() if name != MARKS}
    expected = {row["method"]: Method(row["calls"], row["total_ns"], row["self_ns"], row.get("exceptions") or 0,
                                      row.get("cpu_total_ns") or 0) for row in report["methods"]}
    found = differences("method", methods, expected)
    threads = {row["thread"]: [row["calls"], row["busy_ns"]] for row in report["threads"] if row["calls"]}
    ours = {thread: figures for thread, figures in sums.threads.items() if thread is not None}
    found += differences("thread", ours, threads)
    start = report["trace"]["start_ns"]
    blocked = collections.Counter((s.thread, s.start - start, s.end - s.start) for s in sums.waits if s.method == BLOCKED)
    rows = collections.Counter((r["thread"], r["start_ns"], r["blocked_ns"]) for r in report.get("monitors") or [])
    # The report has waits outside of calls, too.
    found += [f"blocked (thread, start, length) {wait}: not in the report" for wait in list(blocked - rows)[:5]]
    return found


def sent_requests(jtrail, trace):
    """What a collector receives when jtrail sends the trace."""
    received = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):  # pylint: disable=invalid-name
            expect(self.path == "/v1/traces", "posted to", self.path)
            expect(self.headers["Content-Type"] == "application/x-protobuf", "content type", self.headers["Content-Type"])
            received.append(ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        command = [jtrail, "export", trace, "--to", "otlp", "--send", address, "--force"]
        done = subprocess.run(command, capture_output=True, text=True)
        server.shutdown()
    expect(done.returncode == 0, done.stderr)
    return received


def sources(options):
    """Yields the names of exports, with their requests."""
    for path in options.export:
        yield path.name, (protobuf_requests if path.suffix == ".pb" else json_requests)(path)
    if options.send:
        yield "collector", sent_requests(options.jtrail, options.trace)


def summary(name, export, sums):
    """What the export holds, in a line."""
    largest = max(sums.traces.values(), default=0)
    waits = collections.Counter(span.method for span in sums.waits)
    return (f"{name}: {len(export.spans)} spans in {len(sums.traces)} traces, the largest has {largest}; "
            f"{len(sums.methods)} methods, {len(export.links)} links, waits {dict(waits)}, "
            f"exceptions {dict(export.exceptions)}; {export.resource}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("export", type=Path, nargs="+")
    parser.add_argument("--jtrail", default="jtrail", metavar="PROGRAM", help="the command line")
    parser.add_argument("--send", action="store_true", help="have jtrail send the trace to this script, too")
    options = parser.parse_args()
    words = [options.jtrail, "report", options.trace, "--format", "json", "--top", "0"]
    report = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    first = None
    for name, requests in sources(options):
        try:
            export = Export(requests)
            sums = Sums(export.spans)
            ids = {(span.trace, span.id) for span in export.spans}
            expect(len(ids) == len(export.spans), "an id occurs twice")
            expect(ids.issuperset(export.links), "a link leads nowhere")
            first = first or export
            expect(export.hash == first.hash, "differs from", options.export[0])
            print(summary(name, export, sums))
            found = compare(sums, report)
            expect(not found, "\n".join(found))
            print(f"  {name}: as in the report: {len(report['methods'])} methods, {report['trace']['calls']} calls")
        except Wrong as wrong:
            sys.exit(f"{name}: {wrong}")


if __name__ == "__main__":
    main()
