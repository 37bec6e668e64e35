/** A provider's endpoint whose answers may be streams. */
export type Api = "openai-chat" | "openai-responses" | "anthropic-messages";
