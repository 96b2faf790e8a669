"""A model of the worker's agent (`crates/fleet`), step by step as it touches disk, network and machine."""

from simulation.agent.endings import AgentEndedError, Patience, PowerCutError, RebootAskedError, Waiting
from simulation.agent.process import Agent

__all__ = ["Agent", "AgentEndedError", "Patience", "PowerCutError", "RebootAskedError", "Waiting"]
