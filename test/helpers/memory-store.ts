export { MemoryStore } from '../../lib/state/memory-store';
