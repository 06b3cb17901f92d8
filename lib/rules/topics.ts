import { TEXT } from './limits';

/**
 * Reads the first part of MQTT topics, such as `home/printing`, without slashes around it. Null for an empty one, and for one
 * that holds a wildcard, an empty level, or a character that MQTT forbids.
 */
export function readTopicPrefix(setting: string): string | null {
  if (setting.length > TEXT.shown) return null;
  const prefix = setting.trim().replace(/^\/|\/$/g, '');
  const isWrong = /[+#\p{Cc}\p{Cs}]/u.test(prefix) || prefix.startsWith('$');
  return isWrong || prefix.split('/').includes('') ? null : prefix;
}
