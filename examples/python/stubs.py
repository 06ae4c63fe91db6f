"""The boundary's messages and services, generated from proto/ at the start."""
import shutil, subprocess, sys, tempfile
from pathlib import Path

PROTO, OUT = Path(__file__).resolve().parents[2] / "proto", tempfile.TemporaryDirectory()
PLUGIN = f"--plugin=protoc-gen-grpc_python={shutil.which('grpc_python_plugin')}"
subprocess.check_call(["protoc", f"-I{PROTO}", f"--python_out={OUT.name}", f"--grpc_python_out={OUT.name}", PLUGIN,
                       *map(str, sorted(PROTO.glob("gateway/v1/*.proto")))])
sys.path.insert(0, OUT.name)
from gateway.v1 import referee_pb2 as r, referee_pb2_grpc, sequencer_pb2 as s, sequencer_pb2_grpc, types_pb2 as t  # noqa
