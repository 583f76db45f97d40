from hypothesis import HealthCheck, settings

# Nothing is written to the working directory; on a busy machine, an example may take long.
settings.register_profile("project", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")
