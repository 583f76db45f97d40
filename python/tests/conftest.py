from hypothesis import HealthCheck, settings

# Nothing is written to where the tests are run; on a busy machine an example may take long.
settings.register_profile("project", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")
