"""Small files in the formats of suites, written by hand: shaped as real ones, with invented numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def write_speed(
    times: Mapping[str, Sequence[float]],
    *,
    model: str = "Box 1",
    processor: str = "Chip 2000",
    clock: int = 2500,
    failed: Sequence[str] = (),
) -> str:
    """A speed result of CPU2017: every iteration, the selected ones, and the hardware."""
    header = 'Benchmark,"Base # Threads","Base Run Time","Base Ratio","Base Selected","Base Status"'
    full = [f"{name},1,{time},3.1,0,S" for name, found in times.items() for time in found]
    full += [f"{name},1,1.5,,0,RE" for name in failed]
    selected = [f"{name},1,{sorted(found)[len(found) // 2]},3.1,1,S" for name, found in times.items()]
    return "\n".join(
        [
            "valid,1",
            "",
            '"Full Results Table"',
            "",
            header,
            *full,
            "",
            '"Selected Results Table"',
            "",
            header,
            *selected,
            "",
            "SPECspeed2017_int_base,3.1,,",
            "",
            "HARDWARE",
            f'"CPU Name","{processor}"',
            f'"  Max MHz",{clock + 900}',
            f'"  Nominal",{clock}',
            '"  Enabled","8 cores, 2 chips, 2 threads/core"',
            '"  L2","1 MB I+D on chip per core"',
            '"  L3","16 MB I+D on chip per chip"',
            '"Memory","64 GB (4 x 16 GB 2Rx4)"',
            f'"Hardware Model:","{model}"',
        ]
    )


RATE_2006 = "\n".join(
    [
        "valid,1",
        '"Full Results Table"',
        "",
        'Benchmark,"Base # Copies","Base Run Time","Base Rate","Base Selected","Base Status","Peak # Copies",'
        '"Peak Run Time","Peak Rate","Peak Selected","Peak Status"',
        "400.perlbench,4,500,78.2,0,S,4,400,97.7,0,S",
        "400.perlbench,4,510,76.6,1,S,,,,,NR",
        "401.bzip2,4,800,48.2,1,S,,,,,NR",
        "",
        '"CPU Name:","Old Chip"',
        '"CPU MHz:",2400',
        '"CPU(s) enabled:","4 cores, 1 chip, 4 cores/chip"',
        '"Secondary Cache:","512 KB I+D on chip per core"',
    ]
)

COMPOSITE = """<?xml version="1.0"?>
<PhoronixTestSuite>
  <Generated><Title>Two systems</Title></Generated>
  <System>
    <Identifier>alpha</Identifier>
    <Hardware>Processor: Chip 7 @ 3.40GHz (4 Cores / 8 Threads), Memory: 2 x 8192MB</Hardware>
  </System>
  <System>
    <Identifier>beta</Identifier>
    <Hardware>Processor: Chip 9 @ 2.10GHz (16 Cores), Memory: 64GB</Hardware>
  </System>
  <Result>
    <Identifier>pts/zip-1.2.0</Identifier><Title>Zip</Title><Description>Level: 9</Description>
    <Scale>Seconds</Scale><Proportion>LIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>
    <Data>
      <Entry><Identifier>alpha</Identifier><Value>10.5</Value><RawString>10:11</RawString></Entry>
      <Entry><Identifier>beta</Identifier><Value>20</Value><RawString></RawString></Entry>
    </Data>
  </Result>
  <Result>
    <Identifier>pts/copy-1.0.1</Identifier><Title>Copy</Title><Description></Description>
    <Scale>MB/s</Scale><Proportion>HIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>
    <Data>
      <Entry><Identifier>alpha</Identifier><Value>4000</Value><RawString>4000</RawString></Entry>
      <Entry><Identifier>beta</Identifier><Value></Value><RawString></RawString></Entry>
    </Data>
  </Result>
  <Result>
    <Identifier>pts/wait-1.0.0</Identifier><Title>Wait</Title><Description>p99</Description>
    <Scale>ms</Scale><Proportion>LIB</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>
    <Data>
      <Entry><Identifier>alpha</Identifier><Value>250</Value><RawString>250</RawString></Entry>
      <Entry><Identifier>beta</Identifier><Value>500</Value><RawString>500</RawString></Entry>
    </Data>
  </Result>
  <Result>
    <Identifier></Identifier><Title>CPU Temperature Monitor</Title><Scale>Celsius</Scale>
    <Proportion>LIB</Proportion><DisplayFormat>LINE_GRAPH</DisplayFormat>
    <Data><Entry><Identifier>alpha</Identifier><Value>50,51</Value></Entry></Data>
  </Result>
</PhoronixTestSuite>
"""
