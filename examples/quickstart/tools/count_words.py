"""Reads {"text": …} from standard input and answers {"words": …}."""

import json
import sys

arguments = json.load(sys.stdin)
json.dump({"words": len(arguments["text"].split())}, sys.stdout)
