"""The house staff: doctor, setup."""
