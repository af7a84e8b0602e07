"""What a trace tells of a collective from its launch on."""
import json


def launched(file):
    """Events as text, in the order of the file, counted from the launch. What a host asks for before has the times at which it asked, and is left out. Of chips at 1 GHz."""
    events = json.loads(file.read_text())
    launches = [event["args"] for event in events if event["name"] == "LAUNCH" and event["ph"] == "X"]
    begin, end = min(launch["cycle_start"] for launch in launches), max(launch["cycle_end"] for launch in launches)
    told = []
    for event in events:
        if "ts" in event:
            event["ts"] = round(event["ts"] * 1e6) - begin * 1000
            if not 0 <= event["ts"] <= (end - begin) * 1000:
                continue
        for key in ("cycle_start", "cycle_end"):
            if key in event.get("args", {}):
                event["args"][key] -= begin
        told.append(json.dumps(event))
    return told
