class CopyFrom: pass
class CopyTo: pass
def read_copy(sql): return None
