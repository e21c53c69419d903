"""Every place in Sift that writes to an output or a log, or formats a caught exception.

Each has been reviewed: nothing of a request, no word of a vendor and no key can get into it. Review a new one before
adding it; `tests/api/test_privacy.py` names those that are missing or gone.
"""

from __future__ import annotations

from typing import NamedTuple


class Spot(NamedTuple):
    """One place in the code."""

    module: str
    function: str
    expression: str


_REVIEWED: dict[str, dict[str, list[str]]] = {
    "sift/api/errors.py": {
        "_internal": [
            "_log.error('internal_error', extra={'fields': {'type': type(error).__name__, 'at': place}})",
        ],
    },
    "sift/app.py": {
        "open_keys": [
            "f'{error}; this command makes a key: {MAKE_A_KEY}'",
        ],
    },
    "sift/auth/identify.py": {
        "_follow": [
            "_log.error('key_file_unusable', extra={'fields': fields})",
        ],
    },
    "sift/auth/keystore.py": {
        "read_keys": [
            "str(error)",
        ],
        "write_keys": [
            "file.write(format_keys(keys))",
        ],
    },
    "sift/batch/crew.py": {
        "_report_fault": [
            "_log.error('internal_error', extra={'fields': {'type': type(error).__name__, 'at': place}})",
        ],
        "_tell": [
            "_log.info('batch', extra={'fields': ended._asdict()})",
        ],
    },
    "sift/batch/outage.py": {
        "answered": [
            "_log.info('batches_resumed')",
        ],
        "failed": [
            "_log.warning('batches_paused', extra={'fields': {'reason': 'store'}})",
        ],
    },
    "sift/server/work.py": {
        "work": [
            "output.write('info', 'starting', {'version': __version__})",
            "output.write('warning', event, fields)",
        ],
    },
    "sift/health.py": {
        "call_ended": [
            "_log.info('source_up', extra={'fields': {'source': source, 'failures': failures}})",
            "_log.warning('source_down', extra={'fields': {'source': source, 'reason': outcome, **known}})",
        ],
    },
    "sift/cli/__init__.py": {
        "_dispatch": [
            "complain(str(error))",
            "str(error)",
        ],
        "_run": [
            "complain(f'internal error: {type(error).__name__}')",
            "f'internal error: {type(error).__name__}'",
        ],
        "main": [
            "sys.exit(status)",
        ],
    },
    # Whatever pages and the service say is cleaned in shown.py; ids have been checked, numbers are numbers, and the
    # path is the user's, with a name of letters and digits behind it.
    "sift/cli/batch/__init__.py": {
        "cancel": [
            "say(document(found, sys.stdout.encoding))",
            "tell(f\"{('deleted' if purge else 'ended')} {id}\")",
        ],
        "errors": [
            "say(document(found, sys.stdout.encoding))",
            "say(line)",
            "tell('nothing failed')",
        ],
        "list_": [
            "say(document(found, sys.stdout.encoding))",
            "say(line)",
            "tell('no batches')",
        ],
        "results": [
            "tell('no pages')",
        ],
        "status": [
            "say(document(found, sys.stdout.encoding))",
            "say(numbers(found))",
            "tell(f'its pages: sift batch results {id}')",
        ],
    },
    "sift/cli/batch/answers.py": {
        "accepted": [
            "complain((reason or refused)(response))",
            "say(document(response.payload, sys.stdout.encoding))",
        ],
    },
    "sift/cli/batch/chosen.py": {
        "stop": [
            "complain(reason)",
        ],
    },
    "sift/cli/batch/outcome.py": {
        "dump": [
            "say(document(whole, sys.stdout.encoding))",
        ],
        "save": [
            "complain(f'--out: the files cannot be written: {error.strerror or type(error).__name__}')",
            "f'--out: the files cannot be written: {error.strerror or type(error).__name__}'",
            "say(str(into.save(item)))",
            "tell(line)",
        ],
        "show": [
            "say('')",
            "say(line)",
        ],
    },
    "sift/cli/batch/progress.py": {
        "resumable": [
            "tell(go_on(id))",
        ],
    },
    "sift/cli/batch/saved.py": {
        "save": [
            "file.write(markdown(item).encode())",
        ],
    },
    "sift/cli/batch/submit.py": {
        "_follow": [
            "tell(f'{_count(receipt)}, batch {name}{kept(receipt)}')",
        ],
        "_print": [
            "say(document(receipt, sys.stdout.encoding))",
            "say(name)",
            "tell(f'{_count(receipt)}: sift batch status {name} --wait, then sift batch results {name}')",
        ],
        "_sum_up": [
            "tell(f'whole texts: sift batch results {name} --out DIR')",
            "tell(f'{had}, batch {name}{kept(batch)}')",
            "tell(f'{had}; {go_on(name)}')",
            "tell(f'{had}{kept(batch)}')",
        ],
        "submit": [
            "tell('')",
            "tell(line)",
            "warn((each for each in receipt.get('warnings', ()) if isinstance(each, str)))",
        ],
    },
    # Findings are cleaned before they are printed. The errors of client and settings hold no value.
    "sift/cli/doctor.py": {
        "_ask_service": [
            "str(error)",
        ],
        "_print": [
            "say(document({'ok': is_well, 'checks': [each._asdict() for each in shown]}, sys.stdout.encoding))",
            "say(line)",
        ],
        "_search": [
            "str(error)",
        ],
        "_text": [
            "f'the file cannot be read: {error.strerror}.'",
        ],
    },
    "sift/doctor/examine.py": {
        "_store": [
            "str(error)",
        ],
    },
    "sift/doctor/settings.py": {
        "_beside": [
            "str(error)",
        ],
        "read_settings": [
            "str(error)",
        ],
    },
    "sift/doctor/state.py": {
        "look_at_state": [
            "file.write(_PROBE)",
        ],
    },
    "sift/doctor/together.py": {
        "guarded": [
            "f'this check broke: {type(error).__name__}'",
        ],
    },
    # Page text is cleaned before it is printed, and the client has checked that numbers are numbers.
    "sift/cli/fetch.py": {
        "_print": [
            "say(line)",
        ],
        "_remark": [
            "tell(f\"more: the text has {page['chars']} characters; --start {following} reads on\")",
            "tell(f\"no text from there on: it has {page['chars']} characters\" if page['chars'] else 'no text')",
            "warn(page['warnings'])",
        ],
        "fetch": [
            "complain(_reason(response))",
            "say(document(response.payload, sys.stdout.encoding))",
        ],
    },
    "sift/cli/guard.py": {
        "check": [
            "complain(refused(error.hint))",
            "say(printable(target.url))",
        ],
    },
    "sift/cli/key.py": {
        "_file_errors": [
            "complain(f'the key file cannot be written: {error.strerror or type(error).__name__}')",
            "f'the key file cannot be written: {error.strerror or type(error).__name__}'",
        ],
        "_usage_errors": [
            "f\"'{_SHOWN[error.argument]}'\"",
        ],
        "list_": [
            "say(_SCREEN_COLUMNS.format('ID', 'CLASS', 'STATE', 'CREATED (UTC)', 'EXPIRES (UTC)', 'NAME'))",
            "say(_line(entry, now, at_terminal=at_terminal))",
            "tell('no keys yet: sift key new --name NAME --class CLASS')",
        ],
        "new": [
            "say(token)",
            "tell('This token is not shown again. The caller sets SIFT_TOKEN to it.')",
        ],
        "revoke_": [
            "tell(f'revoked {revoked.id} ({printable(revoked.caller.name)})')",
        ],
    },
    "sift/cli/search.py": {
        "_print": [
            "say(line)",
            "tell('no hits')",
            "warn(payload['warnings'])",
        ],
        "_refused": [
            "complain(_reason(response))",
            "warn([warning for warning in warnings if isinstance(warning, str)])",
        ],
        "search": [
            "say(document(response.payload, sys.stdout.encoding))",
            "say(line)",
            "warn(response.payload['warnings'])",
        ],
    },
    "sift/cli/reading.py": {
        "read_text": [
            "f'the file cannot be read: {error.strerror}.'",
        ],
    },
    "sift/cli/store.py": {
        "import_": [
            "complain('the files cannot be read, or the database does not answer; it does no harm to run this again')",
            "say(f'carried over: {paid} credits of today, unfinished batches: {batches}')",
        ],
    },
    "sift/cli/usage.py": {
        "usage": [
            "complain('forbidden: the key must be of class fleet' if is_class else refusal(response))",
            "say(document(response.payload, sys.stdout.encoding))",
            "say(line)",
            "tell('nothing was used')",
        ],
    },
    "sift/cli/overview.py": {
        "_look": [
            "complain('forbidden: the key must be of class fleet' if is_class else refusal(response))",
            "say(document(response.payload, sys.stdout.encoding))",
            "say(cleared + '\\n'.join(status_lines(response.payload, display)))",
        ],
    },
    "sift/cli/service.py": {
        "reaching": [
            "complain(f'{error}; SIFT_URL must be the address of a Sift service')",
            "complain(f'{error}; SIFT_URL says where it is')",
            "f'{error}; SIFT_URL must be the address of a Sift service'",
            "f'{error}; SIFT_URL says where it is'",
        ],
        "warn": [
            "tell(f'warning: {printable(warning)}')",
        ],
    },
    "sift/cli/terminal.py": {
        "_write": [
            "sys.stderr.write(text)",
        ],
        "erase": [
            "_write(ERASE)",
        ],
        "explained": [
            "_write(ERASE)",
        ],
        "show": [
            "_write(ERASE + text)",
            "_write(text[:shutil.get_terminal_size().columns - 1])",
        ],
        "complain": [
            "tell(f'sift: {message}')",
        ],
        "say": [
            "sys.stdout.write(f'{text}\\n')",
        ],
        "tell": [
            "sys.stderr.write(f'{text}\\n')",
        ],
    },
    "sift/demo/server.py": {
        "_send": [
            "self.wfile.write(payload)",
        ],
    },
    # To the pipe between the service and a child of its own, which writes to nothing else.
    "sift/fetch/extract/child.py": {
        "serve": [
            "answers.write(BEGUN)",
            "answers.write(piece)",
        ],
    },
    "sift/fetch/extract/process.py": {
        "_send": [
            "os.write(self._to, self._left[0][:_CHUNK])",
        ],
    },
    "sift/gunicorn_conf.py": {
        "_warn_of_metrics": [
            "JsonLog(settings.log_level).write('warning', 'metrics_unavailable', {'type': type(error).__name__})",
        ],
        "_refuse": [
            "sys.exit(1)",
        ],
        "_start": [
            "JsonLog(found.config.log_level).write('info', 'starting', {'version': __version__})",
            "str(error)",
            "sys.stdout.write(render('error', 'no_log', {'message': 'stderr cannot be written'}).decode())",
        ],
    },
    "sift/log.py": {
        "emit": [
            "self.write(record.levelname.lower(), record.getMessage(), getattr(record, 'fields', {}))",
        ],
        "record_fetch": [
            "self.write('info', 'fetch', fields)",
        ],
        "record_search": [
            "self.write('info', 'search', fields)",
        ],
        "write": [
            "self._write(render(level, event, fields))",
        ],
    },
    "sift/cli/mcp.py": {
        "mcp": [
            "complain(EXTRA)",
            "tell(f'listening at http://{shown}:{bound}{server.PATH}')",
        ],
    },
    "sift/mcp/calls.py": {
        "answer": [
            "error.response",
        ],
    },
    "sift/mcp/server.py": {
        "call_tool": [
            'f"Sift\'s MCP server failed: {type(error).__name__}."',
        ],
    },
    "sift/output.py": {
        "_put": [
            "self._write(line)",
            "self._write(line[done:])",
        ],
        "write_when_ready": [
            "os.write(descriptor, data)",
        ],
    },
    "sift/run_conf.py": {
        "on_starting": [
            "print(welcome(settings, host, port, Path(sys.executable).with_name('sift')), flush=True)",
        ],
    },
    "sift/search/calls.py": {
        "_fetch": [
            "_log.error('source_error', extra={'fields': {'source': name, 'type': type(error).__name__, 'at': place}})",
            "f'{name}: {error.reason}'",
        ],
        "_place": [
            "traceback.extract_tb(error.__traceback__)",
        ],
    },
    "sift/store/sqlite/ledger.py": {
        "_identity": [
            "_log.warning('ledger_created')",
        ],
        "_lose": [
            "_log.error('ledger_lost')",
        ],
    },
    "sift/store/open.py": {
        "import_store": [
            "f'SIFT_STORE_URL: {error.reason}'",
        ],
    },
    "sift/store/postgres/check.py": {
        "_ask": [
            "f'SIFT_STORE_URL: {error.reason}'",
        ],
    },
    "sift/store/postgres/database.py": {
        "_failed": [
            "_log.error('store_error', extra={'fields': {'reason': reason}})",
        ],
        "_lose": [
            "_log.error('ledger_lost')",
        ],
        "_make": [
            "_log.warning('ledger_created')",
        ],
        "_tell": [
            "_log.error('store_down', extra={'fields': {'reason': self._reason}})",
            "_log.info('store_up')",
        ],
    },
    "sift/store/postgres/ledger.py": {
        "_compare": [
            "_log.warning('caps_differ', extra={'fields': {'source': name, 'cap': cap, 'other': stored}})",
        ],
    },
    "sift/store/sheet.py": {
        "begin": [
            "file.write(header + numbers)",
        ],
    },
    "sift/store/usage.py": {
        "widen": [
            "str(error)",
        ],
    },
    "sift/server/__main__.py": {
        "main": [
            "str(error)",
            "sys.exit(1)",
        ],
    },
    "sift/server/linger.py": {
        "_wake_up": [
            "os.write(self._wake, b'\\x00')",
        ],
    },
    "sift/server/messages.py": {
        "access": [
            "self.access_log.info('access', extra={'fields': fields})",
        ],
        "emit": [
            "self._log.write(*_line(record))",
        ],
        "exception": [
            "self.error_log.error('error in a worker: %s', kind.__name__ if kind else 'unknown')",
            "sys.exc_info()",
        ],
        "report": [
            "log.write('error', 'internal_error', {'type': kind.__name__ if kind else '', 'at': place})",
        ],
        "warning": [
            "self.error_log.warning('a request was rejected as broken HTTP')",
            "super().warning(msg, *args, **kwargs)",
        ],
        "write": [
            "self._log.write('error', 'stderr', {'message': line.strip()})",
        ],
    },
    "sift/server/start.py": {
        "start": [
            "output.write('warning', event, fields)",
            "output.write('warning', 'few_open_files', {'limit': limit, 'threads': capacity.threads})",
            "output.write('warning', 'unknown_setting', {'name': name, **({'did_you_mean': meant} if meant else {})})",
        ],
    },
    "sift/server/worker.py": {
        "finish_request": [
            "fs.exception()",
        ],
        "heed_early_stop": [
            "sys.exit(0)",
        ],
    },
    "wsgi.py": {
        "": [
            "str(error)",
            "sys.exit(3)",
        ],
    },
}
REVIEWED = frozenset(
    Spot(module, function, expression)
    for module, functions in _REVIEWED.items()
    for function, expressions in functions.items()
    for expression in expressions
)
