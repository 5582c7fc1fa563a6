"""``python -m barnabas`` is the ``barnabas`` command."""

from barnabas.cli.main import main

raise SystemExit(main())
