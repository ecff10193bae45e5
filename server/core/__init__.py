"""The rules, pure: no input or output, no clock, no asyncio."""
