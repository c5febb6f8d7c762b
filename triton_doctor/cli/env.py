def env() -> None: pass
