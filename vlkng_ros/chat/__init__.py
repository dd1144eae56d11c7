"""Talking to language models: OpenAI-compatible servers, the JSON in their replies, prompts from files."""

from vlkng_ros.chat.base import Chat
from vlkng_ros.chat.client import ChatClient, Reply
from vlkng_ros.chat.json_reply import find_json
from vlkng_ros.chat.prompt_files import Prompt, load_prompt

__all__ = ["Chat", "ChatClient", "Prompt", "Reply", "find_json", "load_prompt"]
