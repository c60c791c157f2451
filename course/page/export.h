/* export.h -- names a function of the WebAssembly that JavaScript calls. */
#ifndef PAGE_EXPORT_H
#define PAGE_EXPORT_H

#ifdef __wasm__
#define PAGE_EXPORT(name) __attribute__((export_name(#name)))
#else
#define PAGE_EXPORT(name)
#endif

#endif
