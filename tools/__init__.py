"""Programs of the developer: generators of committed files, and checks that need one."""
