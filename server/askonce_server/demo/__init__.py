"""Real-shaped requests and answers, and what AskOnce has to make of them."""

from askonce_server.demo.corpus import DemoCase, cases

__all__ = ["DemoCase", "cases"]
