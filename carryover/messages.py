"""What carryover says to people, in English and in Chinese.

Each message is one plain line: what happened, what was kept, what to do. The two languages stand side by
side and take the same values. English is plain ASCII, so that the poorest terminal can show it. Sentences for
the model and the texts of exceptions are not here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

_BESIDE = ("The note is unchanged; the last messages stand beside it.", "笔记未变，最近的消息已附在旁边。")


def _not_summed_up(english: str, chinese: str) -> tuple[str, str]:
    return f"No summary: {english}. {_BESIDE[0]}", f"没有生成摘要：{chinese}。{_BESIDE[1]}"


MESSAGES: Mapping[str, tuple[str, str]] = {
    "save.done": (
        "Saved. The next session will be given this note.",
        "已保存，下次会话会收到这份笔记。",
    ),
    "save.kept": (
        "Nothing new to save; the note stands as it was.",
        "没有新内容要保存，笔记保持不变。",
    ),
    "save.cannot": (
        "cannot save: {reason}",
        "无法保存：{reason}",
    ),
    "save.no_session": (
        "No session is known here yet; name its file: carryover save --session FILE",
        "这里还没有已知的会话；请指定会话文件：carryover save --session 文件",
    ),
    "tail.kept": (
        "Kept the last {kept} of {messages} messages beside the note, as clues only.",
        "已把全部 {messages} 条消息中的最后 {kept} 条附在笔记旁，仅供参考。",
    ),
    "summary.saving": (
        "Summing up this session for the next one, {seconds} s at most. Ctrl+C skips it; nothing is lost.",
        "正在为下次会话整理摘要（最多 {seconds} 秒）。按 Ctrl+C 可跳过，不会丢失内容。",
    ),
    "summary.saving_now": (
        "Summing up this session ({seconds} s at most) ...",
        "正在整理本次会话的摘要（最多 {seconds} 秒）……",
    ),
    "summary.catching_up": (
        "Summing up a session that ended without saving ...",
        "正在整理一个未保存就结束的会话……",
    ),
    "summary.no_model": (
        "No summary: no model is set up for it (summary.endpoint or summary.command in the settings).",
        "没有生成摘要：没有为它设置模型（设置项 summary.endpoint 或 summary.command）。",
    ),
    "summary.saved": (
        "Session summed up. The next one will be given the summary.",
        "已整理好本次会话的摘要，下次会话会收到它。",
    ),
    "summary.caught_up": (
        "An earlier session that ended without saving is summed up now; the note has it.",
        "之前一个未保存就结束的会话已整理好摘要，并写入笔记。",
    ),
    "summary.skipped": (
        f"Summary skipped. {_BESIDE[0]}",
        f"已跳过摘要。{_BESIDE[1]}",
    ),
    "summary.rejected.empty": _not_summed_up("the model's answer was empty", "模型的回答是空的"),
    "summary.rejected.refusal": _not_summed_up("the model refused", "模型拒绝了请求"),
    "summary.rejected.cut": _not_summed_up("the model's answer was cut off", "模型的回答被截断了"),
    "summary.rejected.long": _not_summed_up("the model's answer was too long", "模型的回答太长"),
    "summary.rejected.language": _not_summed_up("the model answered in another language", "模型用了另一种语言回答"),
    "summary.rejected.dropped": _not_summed_up(
        "the model's answer left out open items of the note", "模型的回答漏掉了笔记里未完成的事项"
    ),
    "summary.rejected.error": _not_summed_up("the model could not be asked{why}", "无法向模型发出请求{why}"),
    "summary.rejected.timeout": _not_summed_up("the model did not answer in time", "模型没有及时回答"),
    "start.recovered": (
        "Recovered what was left by sessions that ended without saving: {n}.",
        "已恢复未保存就结束的会话：{n} 个。",
    ),
    "start.conflict": (
        "{path} has conflict markers. It is left alone until they are resolved; the note on record is used.",
        "{path} 里有冲突标记。解决之前不会改动它，现在使用记录里的笔记。",
    ),
    "source.agent": ("by the agent", "Agent 写入"),
    "source.summary": ("summary of a session", "会话摘要"),
    "source.raw": ("last messages of a session", "会话的最近消息"),
    "source.command": ("by command", "命令写入"),
    "source.edit": ("edited in the file", "在文件中编辑"),
    "source.teammate": ("from a teammate's file", "来自队友的文件"),
    "source.restore": ("restored", "恢复"),
    "source.import": ("taken over", "导入"),
    "source.clear": ("cleared", "清空"),
    "show.saved": (
        "saved {time}, {source}; open items: {n}",
        "保存于 {time}，{source}；未完成事项：{n}",
    ),
    "show.more": (
        "{n} characters more: carryover note",
        "还有 {n} 个字符：carryover note",
    ),
    "show.tail": (
        "Not in the note yet, clues only: the last {kept} of {messages} messages of a session, {time}",
        "尚未写进笔记，仅供参考：{time} 的会话，全部 {messages} 条消息中的最后 {kept} 条",
    ),
    "show.events": (
        "events on record: {n}",
        "记录中的事件：{n}",
    ),
    "show.damaged": (
        "lines that could not be read: {n} (carryover doctor)",
        "无法读取的行：{n}（carryover doctor）",
    ),
    "log.empty": (
        "Nothing is on record yet: {path}",
        "还没有任何记录：{path}",
    ),
    "note.empty": (
        "The note is empty: nothing is open.",
        "笔记是空的：没有未完成的事项。",
    ),
    "note.last_session": (
        "Last session: {path} (reopen it with /resume)",
        "上次会话：{path}（可用 /resume 打开）",
    ),
    "note.none": (
        "No note yet. The agent writes one as it works; `carryover note --set FILE` sets one by hand.",
        "还没有笔记。Agent 会在工作中写下它；也可以用 `carryover note --set 文件` 手动写入。",
    ),
    "note.cleared": (
        "Note cleared. Undo: {undo}",
        "笔记已清空。撤销：{undo}",
    ),
    "note.restored": (
        "The note is again the one of {time}.",
        "笔记已恢复为 {time} 的版本。",
    ),
    "project.none": (
        "This folder is no project, so nothing is kept here (the home folder is never one).",
        "这个文件夹不是项目，因此不会保存任何内容（主目录从不算作项目）。",
    ),
    "command.unknown": (
        "There is no `/carryover {name}`. There is: {known}",
        "没有 `/carryover {name}` 这个命令。可用的有：{known}",
    ),
    "cli.usage": (
        "{reason} Try `{command} --help`.",
        "{reason} 请看 `{command} --help`。",
    ),
    "install.done": (
        "Registered with {host}; it takes effect when {host} starts next. Undo: carryover uninstall {host}",
        "已在 {host} 中注册，{host} 下次启动时生效。撤销：carryover uninstall {host}",
    ),
    "install.nothing": (
        "Registered with {host} already; nothing was changed.",
        "已经在 {host} 中注册，没有改动。",
    ),
    "uninstall.done": (
        "Taken out of {host}. The notes and logs of your projects stay where they are.",
        "已从 {host} 中移除。各项目的笔记和日志保持原样。",
    ),
    "uninstall.nothing": (
        "Not registered with {host}; nothing was changed.",
        "没有在 {host} 中注册，没有改动。",
    ),
    "doctor.ok": ("ok", "正常"),
    "doctor.note": ("note", "注意"),
    "doctor.fault": ("fault", "故障"),
    "doctor.project": (
        "project: {root} ({how})",
        "项目：{root}（{how}）",
    ),
    "doctor.how.named": ("named by you", "由你指定"),
    "doctor.how.found": ("has notes already", "已有笔记"),
    "doctor.how.git": ("the git work tree", "git 工作区"),
    "doctor.how.folder": ("this folder, without git", "当前文件夹，没有 git"),
    "doctor.log_elsewhere": (
        "the log is kept for all work trees in {folder}",
        "所有工作区共用的日志在 {folder}",
    ),
    "doctor.log": (
        "events on record: {n}, in {path}",
        "记录中的事件：{n} 个，在 {path}",
    ),
    "doctor.damaged": (
        "lines of the log that could not be read: {n}; segment:line {places}",
        "日志中无法读取的行：{n}；分段:行号 {places}",
    ),
    "doctor.damaged.mend": (
        "They stay where they are and hide nothing else. A copy of the log from a backup can be put beside it.",
        "这些行会原样保留，不影响其余内容。可以把备份里的日志放到旁边。",
    ),
    "doctor.newer": (
        "lines that a later version wrote: {n}; what is unknown in them is left out",
        "由更新版本写入的行：{n}；其中不认识的内容被忽略",
    ),
    "doctor.newer.mend": (
        "Update carryover: pip install --upgrade pi-carryover",
        "请升级 carryover：pip install --upgrade pi-carryover",
    ),
    "doctor.read_only": (
        "nothing can be saved: {folder} cannot be written to",
        "无法保存：{folder} 不可写",
    ),
    "doctor.read_only.mend": (
        "Make it writable, or name another folder with --project.",
        "请改为可写，或用 --project 指定别的文件夹。",
    ),
    "doctor.cut": (
        "{path} was cut off; the whole note is on record",
        "{path} 被截断了；完整的笔记仍在记录中",
    ),
    "doctor.cut.mend": (
        "It is written again at the next session or save.",
        "下次会话或保存时会重新写出。",
    ),
    "doctor.unsigned": (
        "events are not signed: there is no place for your key, or it cannot be read",
        "事件没有签名：没有存放密钥的位置，或密钥无法读取",
    ),
    "doctor.unsigned.mend": (
        "Set HOME (or XDG_STATE_HOME) to a folder of yours that can be written to.",
        "请把 HOME（或 XDG_STATE_HOME）设为你自己的可写文件夹。",
    ),
    "doctor.no_cache": (
        "there is no cache folder, so a start reads the whole log",
        "没有缓存文件夹，每次启动都要读取整个日志",
    ),
    "doctor.no_cache.mend": (
        "Set HOME (or XDG_CACHE_HOME).",
        "请设置 HOME（或 XDG_CACHE_HOME）。",
    ),
    "doctor.unsaved": (
        "sessions that ended without saving: {n}",
        "未保存就结束的会话：{n} 个",
    ),
    "doctor.unsaved.mend": (
        "The next session in this project saves them.",
        "本项目的下一个会话会保存它们。",
    ),
    "doctor.session_gone": (
        "a session ended without saving, and its file is gone: {path}",
        "有会话未保存就结束，而且它的文件已不存在：{path}",
    ),
    "doctor.session_gone.mend": (
        "Put the file back before the next session, if it was moved; else nothing can be recovered from it.",
        "如果文件只是被移走，请在下次会话前放回原处；否则无法从中恢复。",
    ),
    "doctor.setting": (
        "setting {key}: from {source}",
        "设置项 {key}：来自 {source}",
    ),
    "doctor.registered": (
        "registered with {host}",
        "已在 {host} 中注册",
    ),
    "doctor.unregistered": (
        "not registered with {host}",
        "没有在 {host} 中注册",
    ),
    "doctor.unregistered.mend": (
        "Run: carryover install",
        "请运行：carryover install",
    ),
    "doctor.secrets_off": (
        "secrets are written as they are: the setting `secrets` is off",
        "密钥会原样写入：设置项 `secrets` 为 off",
    ),
    "doctor.secrets_off.mend": (
        "Take the setting out, or set it to redact.",
        "去掉该设置，或设为 redact。",
    ),
    "doctor.no_watchfiles": (
        "edits of CARRYOVER.md are noticed at the next start only: the package watchfiles is missing",
        "只有下次启动时才会发现对 CARRYOVER.md 的编辑：缺少 watchfiles 包",
    ),
    "doctor.no_watchfiles.mend": (
        "Run: pip install watchfiles",
        "请运行：pip install watchfiles",
    ),
    "doctor.summary.host": (
        "summaries: by the host's own model",
        "摘要：由宿主自己的模型生成",
    ),
    "doctor.summary.endpoint": (
        "summaries: by the endpoint of the settings",
        "摘要：由设置里的接口生成",
    ),
    "doctor.summary.command": (
        "summaries: by the command of the settings",
        "摘要：由设置里的命令生成",
    ),
    "doctor.summary.off": (
        "no summaries: the setting summary.mode is off",
        "不生成摘要：设置项 summary.mode 为 off",
    ),
    "doctor.summary.off.mend": (
        "The last messages are kept all the same. To have summaries, set it to on.",
        "最近的消息照样会保留。需要摘要请设为 on。",
    ),
    "demo.first": (
        "1. A session in a throw-away project, {folder}",
        "1. 在临时项目 {folder} 里开始一个会话",
    ),
    "demo.saved": (
        "2. The agent saves its note with the tool save_carryover:",
        "2. Agent 用 save_carryover 工具保存笔记：",
    ),
    "demo.afterthought": (
        "3. The user goes on, and nothing more is saved:",
        "3. 用户继续对话，之后没有再保存：",
    ),
    "demo.killed": (
        "4. SIGKILL: the host and our child process are gone, without a last word.",
        "4. SIGKILL：宿主和我们的子进程都没了，来不及留下任何内容。",
    ),
    "demo.second": (
        "5. The next session starts, and this is what its model is given:",
        "5. 下一个会话开始，模型收到的内容是：",
    ),
    "demo.done": (
        "The note is there, and what was said after it. {seconds} s, nothing left behind. Next: carryover install",
        "笔记还在，之后说的话也在。用时 {seconds} 秒，没有留下任何文件。下一步：carryover install",
    ),
    "demo.failed": (
        "The second session was not given all of it. Please report this.",
        "第二个会话没有收到全部内容。请报告这个问题。",
    ),
    "demo.script.question": (
        "The date parser fails on time zones. Please fix it.",
        "日期解析遇到时区会失败，请修复。",
    ),
    "demo.script.first_item": (
        "parser.py: offsets of half an hour are still read as full hours (tests/test_dates.py::test_india)",
        "parser.py：半小时的时区偏移仍被当成整小时（tests/test_dates.py::test_india）",
    ),
    "demo.script.second_item": (
        "no new dependency for this: decided, since the package must install offline",
        "不为此新增依赖：已决定，因为这个包必须能离线安装",
    ),
    "demo.script.afterthought": (
        "And keep the old CSV export as it is, the accountants still use it.",
        "另外保留旧的 CSV 导出，财务还在用。",
    ),
    "demo.script.answer": (
        "I will leave it alone and add a test for it.",
        "好的，我不动它，并补一个测试。",
    ),
    "demo.script.go_on": (
        "Please carry on.",
        "请继续。",
    ),
    "status.open": (
        "carryover: {n} open",
        "carryover：{n} 项未完成",
    ),
    "status.nothing": (
        "carryover: nothing open",
        "carryover：没有未完成的事项",
    ),
    "status.broken": (
        "carryover: cannot save",
        "carryover：无法保存",
    ),
}


def say(key: str, language: str, /, **values: object) -> str:
    """The message *key* in *language* ("zh"; anything else is English), with its values filled in."""
    english, chinese = MESSAGES[key]
    return (chinese if language == "zh" else english).format(**values)


def locale_language(environ: Mapping[str, str]) -> str:
    """The message language of this user's locale: "zh" or "en".

    ``LC_ALL``, ``LC_MESSAGES`` and ``LANG`` are asked in that order, as POSIX has it; on Windows, where they
    are seldom set, the language of the user interface.
    """
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    if sys.platform != "win32":
        return "en"

    import ctypes

    chinese = 0x04  # LANG_CHINESE, in the low ten bits of a language id
    return "zh" if ctypes.windll.kernel32.GetUserDefaultUILanguage() & 0x3FF == chinese else "en"
