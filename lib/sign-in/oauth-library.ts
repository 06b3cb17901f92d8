type Library = typeof import('oauth4webapi');

let loading: Promise<Library> | undefined;

/** Returns the library, loaded at its first use: an ES module, which only `import` loads. A failure is not kept. */
export const oauthLibrary = (): Promise<Library> =>
  (loading ??= import('oauth4webapi').catch((error: unknown) => {
    loading = undefined;
    throw error;
  }));
