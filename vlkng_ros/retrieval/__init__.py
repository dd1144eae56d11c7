"""From a question to ranked keyframes with their evidence."""

from vlkng_ros.retrieval.grammar import Superlative
from vlkng_ros.retrieval.query import Query, parse
from vlkng_ros.retrieval.retriever import Found, Retriever, Scene
from vlkng_ros.retrieval.targets import Relation

__all__ = ["Found", "Query", "Relation", "Retriever", "Scene", "Superlative", "parse"]
