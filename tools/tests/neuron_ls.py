def run(tool): pass
