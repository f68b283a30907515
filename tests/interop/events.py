"""What TensorBoard reads in a folder of event files.

Reads {"dir": FOLDER} from standard input and answers {"TAG": [[step, value], ...]}.
"""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

request = json.load(sys.stdin)
events = EventAccumulator(request["dir"])
events.Reload()
json.dump({tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}, sys.stdout)
